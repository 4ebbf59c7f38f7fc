import { createHash } from 'node:crypto'
import type { Message } from '../../platform/i18n/language.js'
import type { ListedSession, SessionWay } from '../../storage/postgres/sessions.js'
import type { SignedIn } from '../session/session-plugin.js'

export type SessionView = {
  id: string
  isThisOne: boolean
  browser: string
  begun: Date
  lastSeen: Date
  /** Name of the provider or login page; empty for `way`. */
  label: string
  way: Message
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

/** @param labels names of the providers and the login page, by their id */
export function sessionView(
  { hash, way, signedInAt, seenAt, browser }: ListedSession,
  user: SignedIn,
  labels: ReadonlyMap<string, string>
): SessionView {
  return {
    id: listedId(hash),
    isThisOne: hash === user.sessionHash,
    browser,
    begun: signedInAt,
    lastSeen: seenAt,
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
