import { type ClientKeys, KEY_MEMBERS, readClientKeys } from './client-key-members.js'
import { nameProblem } from './display-name.js'
import { objectionToRedirectUri } from './redirect-uri.js'
import type { JsonMembers } from './signed/compact-jws.js'
import { PRIVATE_KEY_MEMBERS } from './signed/public-key.js'

/** What Valetkey uses of a client id metadata document. Everything else is ignored and not stored. */
export type ClientMetadata = {
  name: string
  redirectUris: readonly string[]
  /** Absent: a public client. */
  keys?: ClientKeys
  /** Each of its token requests must prove the possession of a key (RFC 9449 §5.2). */
  dpopBound?: true
}

/** Members of the document whose checks need no other member. */
const PLAIN_MEMBERS = [
  ...(['client_id', 'client_secret', 'client_secret_expires_at', 'jwks'] as const),
  ...(['client_name', 'redirect_uris', 'grant_types', 'response_types', 'dpop_bound_access_tokens'] as const)
] as const

/** Members that can make a document invalid. */
export const CHECKED_MEMBERS = [...new Set([...PLAIN_MEMBERS, ...KEY_MEMBERS])] as const

export type CheckedMember = (typeof CHECKED_MEMBERS)[number]

/** An entry of a list that is not used. @property reason for the developer of the app */
export type SkippedEntry = { place: string; reason: string }

export type ReadMetadata =
  | { kind: 'valid'; metadata: ClientMetadata; skipped: readonly SkippedEntry[] }
  /** @property problem for the developer of the app */
  | { kind: 'invalid'; member: CheckedMember | 'document'; problem: string }

type Check = (members: JsonMembers, clientId: string) => string | undefined

const MAX_NAME_LENGTH = 100
/** The most redirect URIs of a client that no operator registered. */
export const MAX_OWN_REDIRECT_URIS = 20
/** Characters of an objection that can quote the document. */
const MAX_PROBLEM_LENGTH = 300

/** Control characters, characters without a meaning, line ends, and characters that change the direction of text. */
const REFUSED_IN_NAME = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/**
 * Reads a client id metadata document (draft-ietf-oauth-client-id-metadata-document-02 §4, RFC 7591 §2). The draft makes
 * `client_name` and `redirect_uris` optional; MCP requires both, and without them the user could not be asked.
 */
export function readClientMetadata(text: string, clientId: string): ReadMetadata {
  const members = parseObject(text)
  if (members === undefined)
    return { kind: 'invalid', member: 'document', problem: 'The document is not a JSON object.' }
  for (const member of PLAIN_MEMBERS) {
    const problem = CHECKS[member](members, clientId)
    if (problem !== undefined) return invalid(member, problem)
  }
  const authentication = readClientKeys(members)
  if (authentication.kind === 'invalid') return invalid(authentication.member, authentication.objection)
  const { usable, skipped } = readUris(members.redirect_uris)
  const { keys } = authentication
  const name = visibleName(members.client_name as string)
  const dpopBound = members.dpop_bound_access_tokens === true && { dpopBound: true as const }
  return {
    kind: 'valid',
    metadata: { name, redirectUris: usable, ...(keys && { keys }), ...dpopBound },
    skipped: [...skipped, ...authentication.skipped]
  }
}

function invalid(member: CheckedMember, problem: string): ReadMetadata {
  return { kind: 'invalid', member, problem: `${member} ${problem}.`.slice(0, MAX_PROBLEM_LENGTH) }
}

const NAME_OBJECTIONS = {
  invisible: 'must have a visible character',
  too_many_marks: 'must not have more than four marks on one letter'
} as const

const CHECKS: Readonly<Record<(typeof PLAIN_MEMBERS)[number], Check>> = {
  client_id: ({ client_id: id }, clientId) => (id === clientId ? undefined : 'must be the URL of the document'),
  client_secret: (members) => absent(members, 'client_secret'),
  client_secret_expires_at: (members) => absent(members, 'client_secret_expires_at'),
  jwks: ({ jwks }) => (hasPrivateKey(jwks) ? 'must not contain a private or symmetric key' : undefined),
  client_name: ({ client_name: name }) => {
    if (typeof name !== 'string') return 'is missing'
    const trimmed = visibleName(name)
    if (trimmed.length > MAX_NAME_LENGTH) return `must not be longer than ${MAX_NAME_LENGTH} characters`
    const problem = nameProblem(trimmed)
    if (problem !== undefined) return NAME_OBJECTIONS[problem]
    return REFUSED_IN_NAME.test(trimmed)
      ? 'must not contain control characters or change the text direction'
      : undefined
  },
  redirect_uris: ({ redirect_uris: uris }) => objectionToUris(uris),
  grant_types: ({ grant_types: types }) => mustContain(types, 'authorization_code'),
  response_types: ({ response_types: types }) => mustContain(types, 'code'),
  // Another value may be meant as true, so it does not count as false.
  dpop_bound_access_tokens: ({ dpop_bound_access_tokens: isBound = false }) =>
    typeof isBound === 'boolean' ? undefined : 'must be true or false'
}

function parseObject(text: string): JsonMembers | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonMembers) : undefined
  } catch {
    return undefined
  }
}

function absent(members: JsonMembers, name: string): string | undefined {
  return Object.hasOwn(members, name) ? 'must be absent: a document is public' : undefined
}

function visibleName(name: string): string {
  return name.normalize('NFC').trim()
}

/**
 * A URI that cannot be used does not make the others unusable: apps also list those of their other platforms and of older
 * releases. Without it, the app has fewer redirect URIs, never others.
 */
function readUris(uris: unknown): { usable: readonly string[]; skipped: readonly SkippedEntry[] } {
  const usable = new Set<string>()
  const skipped: SkippedEntry[] = []
  for (const [index, uri] of (Array.isArray(uris) ? uris : []).entries()) {
    const objection = typeof uri === 'string' ? objectionToRedirectUri(uri) : 'must be a string'
    if (objection === undefined) usable.add(uri)
    else skipped.push({ place: `redirect_uris[${index}]`, reason: objection.slice(0, MAX_PROBLEM_LENGTH) })
  }
  return { usable: [...usable], skipped }
}

function objectionToUris(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0) return 'must be an array of at least one URI'
  const { usable, skipped } = readUris(uris)
  if (usable.length > MAX_OWN_REDIRECT_URIS) return `must not have more than ${MAX_OWN_REDIRECT_URIS} URIs`
  if (usable.length > 0) return undefined
  return `has an invalid URI ${skipped.map(({ reason }, index) => `at index ${index}: it ${reason}`).join('; ')}`
}

/** An absent member has a default that contains the value (RFC 7591 §2). Values that are not supported are ignored. */
function mustContain(values: unknown, value: string): string | undefined {
  if (values === undefined || (Array.isArray(values) && values.includes(value))) return undefined
  return `must be an array with ${value}`
}

function hasPrivateKey(jwks: unknown): boolean {
  const { keys } = Object(jwks) as { keys?: unknown }
  if (!Array.isArray(keys)) return false
  return keys.some((key) => PRIVATE_KEY_MEMBERS.some((name) => Object.hasOwn(Object(key) as object, name)))
}
