export type Seen = { at: number; what: string; status: number; said?: string }
type Session = { since: number }

export type Flows = {
  seen: Seen[]
  signIn(): Promise<Session>
  run(
    sessions: readonly Session[],
    options?: { pauseMs?: number; newcomersEveryMs?: number }
  ): { stop(): Promise<void> }
  useSecret(clientSecret: string): void
}

export function createFlows(app: {
  issuer: string
  filesUrl?: string | undefined
  clientId: string
  clientSecret: string
  redirectUri: string
  scope: string
  username: string
  password: string
  onTokens?: (form: Record<string, string>, tokens: Record<string, string>) => void
  repeatsExchanges?: boolean
}): Flows

export function untilWell(seen: readonly Seen[], options?: { from?: number; requests?: number }): Promise<void>

export function evaluateFlows(
  seen: readonly Seen[],
  from?: number,
  to?: number
): { requests: number; unavailable: number; awayFor: number; failed: Seen[]; unavailableAt: number[] }
