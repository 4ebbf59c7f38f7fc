import { nameProblem } from './display-name.js'
import { objectionToRedirectUri } from './redirect-uri.js'

/** What Valetkey uses of a client id metadata document. Everything else is ignored and not stored. */
export type ClientMetadata = { name: string; redirectUris: readonly string[] }

/** Members that can make a document invalid. */
export const CHECKED_MEMBERS = [
  ...(['client_id', 'client_secret', 'client_secret_expires_at', 'jwks', 'token_endpoint_auth_method'] as const),
  ...(['client_name', 'redirect_uris', 'grant_types', 'response_types'] as const)
] as const

export type CheckedMember = (typeof CHECKED_MEMBERS)[number]

/** An entry of a list that is not used. @property reason for the developer of the app */
export type SkippedEntry = { place: string; reason: string }

export type ReadMetadata =
  | { kind: 'valid'; metadata: ClientMetadata; skipped: readonly SkippedEntry[] }
  /** @property problem for the developer of the app */
  | { kind: 'invalid'; member: CheckedMember | 'document'; problem: string }

type Members = Readonly<Record<string, unknown>>
type Check = (members: Members, clientId: string) => string | undefined

const MAX_NAME_LENGTH = 100
/** The most redirect URIs of a client that no operator registered. */
export const MAX_OWN_REDIRECT_URIS = 20
/** Characters of an objection that can quote the document. */
const MAX_PROBLEM_LENGTH = 300

/** Control characters, characters without a meaning, line ends, and characters that change the direction of text. */
const REFUSED_IN_NAME = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Members of a JWK that only a private or symmetric key has (RFC 7518 §6). */
const PRIVATE_KEY_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Reads a client id metadata document (draft-ietf-oauth-client-id-metadata-document-02 §4, RFC 7591 §2). The draft makes
 * `client_name` and `redirect_uris` optional; MCP requires both, and without them the user could not be asked.
 */
export function readClientMetadata(text: string, clientId: string): ReadMetadata {
  const members = parseObject(text)
  if (members === undefined)
    return { kind: 'invalid', member: 'document', problem: 'The document is not a JSON object.' }
  for (const member of CHECKED_MEMBERS) {
    const problem = CHECKS[member](members, clientId)
    if (problem !== undefined) {
      return { kind: 'invalid', member, problem: `${member} ${problem}.`.slice(0, MAX_PROBLEM_LENGTH) }
    }
  }
  const { usable, skipped } = readUris(members.redirect_uris)
  return {
    kind: 'valid',
    metadata: { name: visibleName(members.client_name as string), redirectUris: usable },
    skipped
  }
}

const NAME_OBJECTIONS = {
  invisible: 'must have a visible character',
  too_many_marks: 'must not have more than four marks on one letter'
} as const

const CHECKS: Readonly<Record<CheckedMember, Check>> = {
  client_id: ({ client_id: id }, clientId) => (id === clientId ? undefined : 'must be the URL of the document'),
  client_secret: (members) => absent(members, 'client_secret'),
  client_secret_expires_at: (members) => absent(members, 'client_secret_expires_at'),
  jwks: ({ jwks }) => (hasPrivateKey(jwks) ? 'must not contain a private or symmetric key' : undefined),
  token_endpoint_auth_method: ({ token_endpoint_auth_method: method }) =>
    method === undefined || method === 'none' ? undefined : 'must be none, the only supported method',
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
  response_types: ({ response_types: types }) => mustContain(types, 'code')
}

function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

function absent(members: Members, name: string): string | undefined {
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
