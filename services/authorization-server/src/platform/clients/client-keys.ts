import { isUsableKey, keyIdOf, type PublicKey, readKeySet, readPublicKey } from '@valetkey/oauth-protocol/signed'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'

/** Keys that a client may have registered: one in use, and others during a rotation. */
export const MOST_REGISTERED_KEYS = 8

/** @property objection the end of a sentence that begins with the name of the key set */
export type ReadKeys = { kind: 'keys'; keys: readonly PublicKey[] } | { kind: 'refused'; objection: string }

/**
 * Reads a JWK Set (RFC 7517 §5) of which every key must be usable, as an operator or developer registers it. Also one JWK alone.
 */
export function readRegisteredKeys(value: unknown): ReadKeys {
  const entries = entriesOf(value) ?? (isObject(value) && 'kty' in value ? [value] : undefined)
  if (entries === undefined) return refused('must be a JWK Set, {"keys":[…]}, or one JWK')
  if (entries.length === 0) return refused('has no key')
  if (entries.length > MOST_REGISTERED_KEYS) return refused(`has more than ${MOST_REGISTERED_KEYS} keys`)
  const keys: PublicKey[] = []
  const objections: string[] = []
  for (const [index, entry] of entries.entries()) {
    const read = readPublicKey(entry)
    if (read.kind === 'key') keys.push(withKid(read.key))
    else objections.push(`keys[${index}] ${read.objection}`)
  }
  if (objections.length > 0) return refused(`is not usable: ${objections.join('; ')}`)
  const kids = new Set(keys.map(({ kid }) => kid))
  return kids.size === keys.length ? { kind: 'keys', keys } : refused('has two keys with the same kid')
}

/** @property keys as they are stored */
type UsableKeys = { kind: 'keys'; keys: readonly StoredJwk[] } | Extract<ReadKeys, { kind: 'refused' }>

/** Reads keys as `readRegisteredKeys` does, and refuses those that cannot be imported. */
export async function readUsableKeys(value: unknown): Promise<UsableKeys> {
  const read = readRegisteredKeys(value)
  if (read.kind === 'refused') return read
  const objections: string[] = []
  for (const key of read.keys)
    if (!(await isUsableKey(key))) objections.push(`the point of the key ${key.kid} is not on its curve`)
  return objections.length > 0
    ? { kind: 'refused', objection: `is not usable: ${objections.join('; ')}` }
    : { kind: 'keys', keys: read.keys.map(toStoredJwk) }
}

/**
 * Reads a JWK Set that a client's server publishes. Keys for other purposes and of unknown types are left out (RFC 7517 §5).
 */
export function readPublishedKeys(value: unknown): ReadKeys {
  const read = readKeySet(value)
  return read.kind === 'refused' ? read : { kind: 'keys', keys: read.keys.map(withKid) }
}

/** A key as it is stored: its public members, `kid` (or its thumbprint, RFC 7638), and `alg` if it has one algorithm. */
export function toStoredJwk(key: PublicKey): StoredJwk {
  const [algorithm, ...others] = key.algorithms
  return { ...key.jwk, kid: keyIdOf(key), ...(algorithm !== undefined && others.length === 0 && { alg: algorithm }) }
}

/** A key without `kid` is named by its thumbprint (RFC 7638). */
function withKid(key: PublicKey): PublicKey {
  return { ...key, kid: keyIdOf(key) }
}

function entriesOf(value: unknown): readonly unknown[] | undefined {
  return isObject(value) && Array.isArray(value.keys) ? value.keys : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refused(objection: string): ReadKeys {
  return { kind: 'refused', objection }
}
