import { createHash } from 'node:crypto'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { ListedSession, SessionWay } from '../../storage/postgres/sessions.js'
import type { SignedIn } from '../session/session-plugin.js'

export type SessionView = {
  id: string
  isThisOne: boolean
  browser: string
  begun: Moment
  lastSeen: Moment
  /** Name of the provider or login page; empty for `way`. */
  label: string
  way: Message
}

/** A time as pages show it, `5 minutes ago`, and exactly. The server does not know the time zone of the user. */
type Moment = { ago: string; exact: Date; iso: string }

type Surroundings = {
  /** Names of the providers and the login page, by their id. */
  labels: ReadonlyMap<string, string>
  language: Language
  now: Date
}

/** Providers and login pages have a name of their own. */
const WAYS: Readonly<Record<SessionWay['kind'], string>> = {
  password: 'sessions.way_password',
  passkey: 'sessions.way_passkey',
  link: 'sessions.way_link',
  provider: '',
  handoff: ''
}

/** Id of a session in the list. Neither the cookie's value nor the hash in the store can be computed from it. */
export function listedId(sessionHash: string): string {
  return createHash('sha256').update(`listed_session\n${sessionHash}`).digest('base64url').slice(0, 22)
}

export function sessionView(
  { hash, way, signedInAt, seenAt, browser }: ListedSession,
  user: SignedIn,
  { labels, language, now }: Surroundings
): SessionView {
  const moment = (time: Date): Moment => ({
    ago: language.ago((now.getTime() - time.getTime()) / 1_000),
    exact: time,
    iso: time.toISOString()
  })
  return {
    id: listedId(hash),
    isThisOne: hash === user.sessionHash,
    browser,
    begun: moment(signedInAt),
    lastSeen: moment(seenAt),
    label: labelOf(way, labels),
    way: { key: WAYS[way.kind] }
  }
}

function labelOf(way: SessionWay, labels: ReadonlyMap<string, string>): string {
  switch (way.kind) {
    case 'provider':
      // The operator may have removed the provider from the settings.
      return labels.get(way.id) ?? way.issuer
    case 'handoff':
      return labels.get('handoff') ?? way.issuer
    case 'password':
    case 'passkey':
    case 'link':
      return ''
  }
}
