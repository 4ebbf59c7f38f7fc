import { MOST_REGISTERED_KEYS } from '../../platform/clients/client-keys.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'

/** @property kid of another registered key @property added keys that were not registered before */
export type MergedKeys =
  | { kind: 'merged'; keys: readonly StoredJwk[]; added: readonly StoredJwk[] }
  | { kind: 'kid_taken'; kid: string }
  | { kind: 'too_many' }

/** Adds keys to those of a client. Keys that it has already are no mistake: a repeated request changes nothing. */
export function mergeKeys(registered: readonly StoredJwk[], given: readonly StoredJwk[]): MergedKeys {
  const added = given.filter((key) => !registered.some((one) => isSameKey(one, key)))
  const taken = added.find(({ kid }) => registered.some((one) => one.kid === kid))
  if (taken !== undefined) return { kind: 'kid_taken', kid: taken.kid ?? '' }
  const keys = [...registered, ...added]
  return keys.length > MOST_REGISTERED_KEYS ? { kind: 'too_many' } : { kind: 'merged', keys, added }
}

function isSameKey(one: StoredJwk, other: StoredJwk): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}
