import { type AuthorizationRequest, type Client, isWithinScope } from '@valetkey/oauth-protocol'

export type NextStep =
  /** `/login` */
  | 'sign_in'
  /** `/oauth/authorize` stores the pending authorization request and redirects to `/consent`. */
  | 'start_consent'
  /** `/consent` */
  | 'ask_consent'
  /** `/oauth/authorize` */
  | 'issue_code'
  /** `/account/apps` */
  | 'show_account'

export type SessionState =
  /** No session, or one that has ended. */
  | { kind: 'none' }
  | {
      kind: 'signed_in'
      /** Scope of the remembered consent. A step that does not depend on it leaves it empty. */
      rememberedScope: readonly string[]
    }
  /** Signed in, and the pending authorization request is stored for this user, browser and session. */
  | { kind: 'decision_pending' }

export type Situation = {
  session: SessionState
  /** The accepted authorization request in the address. Undefined if the user opened a page without one. */
  authorization: { client: Client; request: AuthorizationRequest } | undefined
}

/**
 * The step that serves this request and session. Every step asks this function, and redirects if it names another step.
 * So an edited address cannot skip a step.
 */
export function nextStep({ session, authorization }: Situation): NextStep {
  if (session.kind === 'none') return 'sign_in'
  if (authorization === undefined) return 'show_account'
  // The user is being asked. A consent remembered in another tab must not decide instead of the buttons.
  if (session.kind === 'decision_pending') return 'ask_consent'
  const { client, request } = authorization
  const isRemembered = remembersConsent(client) && isWithinScope(request.scope, session.rememberedScope)
  return isRemembered ? 'issue_code' : 'start_consent'
}

/**
 * Whether a user's earlier consent counts. Anyone can run a public client under its client_id, so its users are asked each
 * time, whatever its record says (RFC 8252 §8.6).
 */
export function remembersConsent(client: Pick<Client, 'consent' | 'type'>): boolean {
  return client.consent === 'remember' && client.type === 'confidential'
}
