import type { SignInWay } from '../../storage/redis/sessions.js'

/** The ways to sign in that are configured. `readConfig` requires at least one. */
export type SignInWays = {
  /** Password and passkeys. */
  local: boolean
  /** Providers, then the login page; each has an address of its own under `/login/with/` or `/login/handoff`. */
  foreign: readonly ForeignWay[]
}

/** @param id id of a provider, or `handoff` */
export type ForeignWay = { id: string; label: string }

/** Path of the page that starts a sign-in with a provider or a login page. */
export function startPath({ id }: Pick<ForeignWay, 'id'>): '/login/handoff' | `/login/with/${string}` {
  return id === 'handoff' ? '/login/handoff' : `/login/with/${id}`
}

/** The only way, if it is not local: then the sign-in page has nothing to choose. */
export function onlyForeignWay({ local, foreign }: SignInWays): ForeignWay | undefined {
  return !local && foreign.length === 1 ? foreign[0] : undefined
}

/** The ways in the order of the sign-in page: the last one that this browser used comes first. */
export function orderedWays(
  { local, foreign }: SignInWays,
  lastWay: string | undefined
): { localFirst: boolean; foreign: readonly ForeignWay[] } {
  const last = foreign.filter(({ id }) => id === lastWay)
  const others = foreign.filter(({ id }) => id !== lastWay)
  return { localFirst: local && last.length === 0, foreign: [...last, ...others] }
}

/** Names the way, not the user. */
export function wayCookieValue(way: SignInWay): string {
  switch (way.kind) {
    case 'provider':
      return way.id
    case 'handoff':
      return 'handoff'
    case 'password':
    case 'passkey':
    case 'link':
      return 'local'
  }
}
