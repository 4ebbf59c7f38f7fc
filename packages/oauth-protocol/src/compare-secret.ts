import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { TokenHash } from './opaque-token.js'

/** Stands in for a missing hash. Random, so that no secret with this hash can be known. */
const NO_SECRET = randomBytes(32)

/**
 * Finds the hash of a presented secret among the stored hashes. The time does not depend on which one matches.
 * @param presented hashes of the readings of the secret
 * @param stored hashes of the live secrets; empty for an unknown client
 * @param leastComparisons with fewer stored hashes, missing ones are compared as well, so that the time does not show how
 *   many there are
 */
export function findMatchingSecret(
  presented: readonly TokenHash[],
  stored: readonly Buffer[],
  leastComparisons: number
): TokenHash | undefined {
  let found: TokenHash | undefined
  for (const hash of presented) {
    for (let index = 0; index < Math.max(leastComparisons, stored.length); index++) {
      const expected = stored[index] ?? NO_SECRET
      if (expected.length === hash.length && timingSafeEqual(expected, hash)) found = hash
    }
  }
  return found
}
