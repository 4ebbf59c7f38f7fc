import type { JsonMembers } from './compact-jws.js'
import { type PublicKey, readPublicKey } from './public-key.js'

/** The most usable keys of a set that its client publishes. */
const MOST_KEYS_OF_SET = 20
const MAX_URL_LENGTH = 2_000

/** A key of a set that is not used. @property place in the set; @property reason for the developer of the app */
export type SkippedKey = { place: string; reason: string }

export type ReadKeySet =
  | { kind: 'keys'; keys: readonly PublicKey[]; skipped: readonly SkippedKey[] }
  /** @property objection why the set is not used; the end of a sentence that begins with the name of the set */
  | { kind: 'refused'; objection: string }

/**
 * Reads a JWK set (RFC 7517 §5) with the keys of a client. A key that cannot be used does not make the others unusable: a set may
 * also have keys for encryption, and of other servers' algorithms.
 */
export function readKeySet(value: unknown): ReadKeySet {
  const { keys } = Object(value) as JsonMembers
  if (!Array.isArray(keys)) return { kind: 'refused', objection: 'must be a JSON object with an array keys' }
  const usable: PublicKey[] = []
  const skipped: SkippedKey[] = []
  for (const [index, jwk] of keys.entries()) {
    const read = readPublicKey(jwk)
    const reason = read.kind === 'refused' ? read.objection : objectionToRepeated(read.key, usable)
    if (read.kind === 'key' && reason === undefined) usable.push(read.key)
    else skipped.push({ place: `keys[${index}]`, reason: reason ?? '' })
  }
  if (usable.length > MOST_KEYS_OF_SET)
    return { kind: 'refused', objection: `must not have more than ${MOST_KEYS_OF_SET} keys` }
  return usable.length === 0
    ? { kind: 'refused', objection: objectionToAll(skipped) }
    : { kind: 'keys', keys: usable, skipped }
}

/** An assertion names its key by `kid`, so a second key with it could not be told from the first. */
function objectionToRepeated(key: PublicKey, others: readonly PublicKey[]): string | undefined {
  if (others.some(({ thumbprint }) => thumbprint === key.thumbprint)) return 'must be in the set once'
  return others.some((other) => keyIdOf(other) === keyIdOf(key)) ? 'must have a kid of its own' : undefined
}

/** The name of a key among those of its client: its `kid`, or its thumbprint (RFC 7638). */
export function keyIdOf({ kid, thumbprint }: PublicKey): string {
  return kid ?? thumbprint
}

function objectionToAll(skipped: readonly SkippedKey[]): string {
  const [first] = skipped
  return first === undefined ? 'must have a key' : `must have a key that can be used; ${first.place} ${first.reason}`
}

/** Why a URL cannot be the `jwks_uri` of a client (RFC 7591 §2); undefined if it can. Its addresses are checked at the fetch. */
export function objectionToKeySetUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || !url.startsWith('https://') || !URL.canParse(url)) return 'must be an https URL'
  if (url.length > MAX_URL_LENGTH) return `must not be longer than ${MAX_URL_LENGTH} characters`
  const { username, password } = new URL(url)
  return username !== '' || password !== '' || url.includes('#')
    ? 'must have neither a user name nor a fragment'
    : undefined
}
