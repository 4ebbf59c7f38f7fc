import {
  type BindingMismatch,
  bindingMismatch,
  type CodeBinding,
  comparableBinding,
  type PresentedBinding
} from '@valetkey/oauth-protocol'
import type { RecordAuthentication } from './record-authentication.js'

// The record of an authorization code is one string in Redis. Its fields are separated by spaces:
//   issued HASH RESOURCE MAC {json}      and, after a line break, the encrypted redirect for a second Allow
//   expired HASH RESOURCE MAC {json}     returned by the script that takes codes, never stored
//   taken ATTEMPT LEFT HASH RESOURCE MAC {json}
// HASH and RESOURCE are those of `comparableBinding`, so that a script finds them without parsing JSON. LEFT is the remaining
// lifetime of the code when it was taken, in milliseconds.

/** HASH and RESOURCE at the start of the part of a record that begins with them, as a pattern of Lua. */
export const COMPARABLE = '^(%S+) (%S+) '
/** The start of the record of a code that can be taken. */
export const ISSUED = 'issued '

/**
 * What a user chose at an API, for a scope that selects (RFC 9396 §2). The service does not read it.
 * @property identifier made by the API
 * @property summary for the user, such as "12 photos"
 */
export type AuthorizationDetail = { type: string; identifier: string; summary: string }

/** What a user allowed; the exchange stores it in the grant. */
export type AllowedGrant = {
  userId: string
  /** Generations as they were at Allow; the exchange compares them with those in Postgres (ADR 0005). */
  userGeneration: number
  clientGeneration: number
  authorizationGeneration: number
  scope: readonly string[]
  /** The greatest number of a scope in the request: a scope with a greater one was not allowed (ADR 0041). */
  newestScope: number
  /** When the user signed in, in milliseconds since 1970. Undefined unless the API asks for it, and the way to sign in says it. */
  authenticatedAt?: number | undefined
  /** When the access ends, in milliseconds since 1970. Undefined: the user chose no end. */
  endsAt?: number | undefined
  /** Undefined unless the scope has one that selects. */
  authorizationDetails?: readonly AuthorizationDetail[] | undefined
  binding: CodeBinding
}

export type CodeContent = {
  allowed: AllowedGrant
  /** Exchanges that got 503 but may have been committed; no client has their tokens. */
  undelivered: readonly string[]
}

export type TakeOutcome =
  | ({ kind: 'taken' } & CodeContent)
  /** Taken before, by the exchange `attempt`. `mismatch`: whether this request has the right binding. */
  | ({ kind: 'used'; attempt: string; mismatch: BindingMismatch | undefined } & CodeContent)
  | { kind: 'bound_elsewhere'; mismatch: BindingMismatch }
  | { kind: 'expired' }
  | { kind: 'unknown' }

/** The part of a record that does not change when the code is taken or returned. */
export function codeBody(key: string, content: CodeContent, records: RecordAuthentication): string {
  const { hash, resource } = comparableBinding(content.allowed.binding)
  return `${hash} ${resource} ${records.protect(key, JSON.stringify(content))}`
}

const FIELDS = /^(issued|expired|taken (\S+) \d+) \S+ \S+ (.*)$/

/** Parses the record that the script for taking a code returns. */
export function toTakeOutcome(
  record: string,
  taking: { key: string; attempt: string; presented: PresentedBinding },
  records: RecordAuthentication
): TakeOutcome {
  const [line = ''] = record.split('\n', 1)
  const [, state = '', attempt, authenticated = ''] = FIELDS.exec(line) ?? []
  const json = state === '' ? undefined : records.open(taking.key, authenticated)
  // This service did not write it, so it grants nothing.
  if (json === undefined) return { kind: 'unknown' }
  const content = JSON.parse(json) as CodeContent
  const mismatch = bindingMismatch(content.allowed.binding, taking.presented)
  if (state === 'expired') return { kind: 'expired' }
  if (attempt !== undefined && attempt !== taking.attempt) return { ...content, kind: 'used', attempt, mismatch }
  if (mismatch !== undefined) return { kind: 'bound_elsewhere', mismatch }
  // Hash and resource before the MAC contradict the protected content: the record was modified.
  return attempt === undefined ? { kind: 'unknown' } : { ...content, kind: 'taken' }
}
