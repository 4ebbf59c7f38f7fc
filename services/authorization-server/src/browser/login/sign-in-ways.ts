import type { FastifyRequest } from 'fastify'
import type { SessionWay } from '../../storage/postgres/sessions.js'
import type { FormOwner } from '../csrf/csrf-token.js'
import type { SignInResult } from './sign-in.js'

/** A way to sign in beside the password. A feature adds it. */
export type SignInWay = ForeignWay | FormWay

/** A way that the sign-in page shows as a link, because the user signs in elsewhere. The feature has the pages behind it. */
export type ForeignWay = {
  kind: 'foreign'
  /** In the cookie of the last way. */
  id: string
  label: string
  /** Path of the page that starts it, such as `/login/handoff`. */
  path: `/login/${string}`
}

/** A way that has a form of its own, with a script, on the sign-in page. It belongs to local accounts. */
export type FormWay = {
  kind: 'form'
  /** Part of the addresses of the form. */
  id: 'passkey'
  /** Message keys, for the outcomes of `finish`. */
  texts: { refused: string; expired: string }
  onPage: (owner: FormOwner, urls: FormUrls) => FormOnPage
  /** `GET /login/<id>/options`: JSON for the script, because a page may be open for longer than its options are valid. */
  start: (owner: FormOwner) => string
  /** `POST /login/<id>`. `expired`: the page was open for too long; this is no failed attempt. */
  finish: (request: FastifyRequest) => Promise<SignInResult | { kind: 'expired' }>
}

/** @property options the address of `start` @property action the address of `finish` */
type FormUrls = { options: string; action: string }

/** Assets that the page loads, in the order in which they run, and what the view shows. */
export type FormOnPage = { scripts: readonly string[]; content: Readonly<Record<string, string>> }

/** The ways to sign in that are configured. `readConfig` requires at least one. */
export type SignInWays = {
  /** Password, and the forms. */
  local: boolean
  foreign: readonly ForeignWay[]
  forms: readonly FormWay[]
}

export function signInWays(local: boolean, added: readonly SignInWay[]): SignInWays {
  return {
    local,
    foreign: added.filter((way) => way.kind === 'foreign'),
    forms: local ? added.filter((way) => way.kind === 'form') : []
  }
}

/** The only way, if it is not local: then the sign-in page has nothing to choose. */
export function onlyForeignWay({ local, foreign }: Pick<SignInWays, 'local' | 'foreign'>): ForeignWay | undefined {
  return !local && foreign.length === 1 ? foreign[0] : undefined
}

/** The ways in the order of the sign-in page: the last one that this browser used comes first. */
export function orderedWays(
  { local, foreign }: Pick<SignInWays, 'local' | 'foreign'>,
  lastWay: string | undefined
): { localFirst: boolean; foreign: readonly ForeignWay[] } {
  const last = foreign.filter(({ id }) => id === lastWay)
  const others = foreign.filter(({ id }) => id !== lastWay)
  return { localFirst: local && last.length === 0, foreign: [...last, ...others] }
}

/** Names the way, not the user. */
export function wayCookieValue(way: SessionWay): string {
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
