import { canonicalName } from '@valetkey/sign-in-rules'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { parseObject } from '../../operator/use-cases/parse-object.js'
import type { ImportedLine } from './token-import-store.js'

const MEMBERS = [
  'refresh_token_sha256',
  'consent',
  'client_id',
  'user',
  'scope',
  'audience',
  'created_at',
  'expires_at'
] as const
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const HEX_HASH = /^[0-9a-f]{64}$/i
const BASE64_HASH = /^[A-Za-z0-9_-]{43}=?$/
/** RFC 3339, with a time zone: without one, the time depends on the machine that reads it. */
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)$/i
const DAY_MS = 86_400_000
/** The table of foreign tokens is empty again after this time at the latest. */
const MOST_DAYS = 400

/**
 * Reads one line of an import.
 * @param defaultAudience of a line that names no API
 * @throws {AdministrationError} naming what is wrong; never with the hash
 */
export function readImportedLine(line: string, defaultAudience: string, now: Date): ImportedLine {
  const given = parseObject(line)
  const unknown = Object.keys(given).find((name) => !MEMBERS.some((member) => member === name))
  if (unknown !== undefined) throw invalid(`${JSON.stringify(unknown)} is not a member of a token or consent`)
  const user = requireText(given, 'user')
  const access = {
    clientId: requireText(given, 'client_id'),
    userId: UUID.test(user) ? user.toLowerCase() : undefined,
    userName: canonicalName(user),
    scope: requireScope(given.scope),
    audience: given.audience == null ? defaultAudience : requireText(given, 'audience'),
    createdAt: readTime(given, 'created_at') ?? now
  }
  const expiresAt = readTime(given, 'expires_at')
  if (expiresAt !== undefined && expiresAt <= now) throw invalid('it has expired')
  if (given.consent !== undefined) return { ...access, kind: requireConsent(given), expiresAt }
  return {
    ...access,
    kind: 'token',
    hash: requireHash(given.refresh_token_sha256),
    expiresAt: requireEnd(expiresAt, now)
  }
}

function requireConsent({ consent, refresh_token_sha256: hash }: Record<string, unknown>): 'consent' {
  if (consent !== true) throw invalid('consent is not true')
  if (hash !== undefined) throw invalid('a line has either refresh_token_sha256 or consent')
  return 'consent'
}

function requireHash(given: unknown): Buffer {
  if (typeof given !== 'string') throw invalid('refresh_token_sha256 is missing or not a text')
  if (HEX_HASH.test(given)) return Buffer.from(given, 'hex')
  const bytes = BASE64_HASH.test(given) ? Buffer.from(given, 'base64url') : Buffer.of()
  if (bytes.length !== 32) throw invalid('refresh_token_sha256 is no SHA-256 in hexadecimal or base64url')
  return bytes
}

function requireEnd(expiresAt: Date | undefined, now: Date): Date {
  if (expiresAt === undefined) throw invalid('expires_at is missing: choose an end for a token that has none')
  if (expiresAt.getTime() - now.getTime() > MOST_DAYS * DAY_MS) {
    throw invalid(`expires_at is more than ${MOST_DAYS} days away: choose an earlier end`)
  }
  return expiresAt
}

function requireScope(given: unknown): readonly string[] {
  const names = typeof given === 'string' ? given.split(' ') : given
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw invalid('scope is neither a text nor a list of texts')
  }
  return [...new Set<string>(names.filter((name) => name !== ''))]
}

function requireText(given: Record<string, unknown>, name: 'client_id' | 'user' | 'audience'): string {
  const text = given[name]
  if (typeof text !== 'string' || text === '') throw invalid(`${name} is missing or not a text`)
  return text
}

function readTime(given: Record<string, unknown>, name: 'created_at' | 'expires_at'): Date | undefined {
  const text = given[name]
  if (text === undefined || text === null) return undefined
  const time = typeof text === 'string' && TIME.test(text) ? Date.parse(toRfc3339(text)) : Number.NaN
  if (Number.isNaN(time)) throw invalid(`${name} is no time with a time zone, such as 2026-11-28T09:30:00Z`)
  return new Date(time)
}

/** Postgres writes a space, and may shorten the time zone to its hours. */
function toRfc3339(text: string): string {
  return text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
