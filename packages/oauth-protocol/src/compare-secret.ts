import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { TokenHash } from './opaque-token.js'

/** Stands in for a missing hash. Random, so that no secret with this hash can be known. */
const NO_SECRET = randomBytes(32)

/**
 * Whether the hash of a presented secret is one of the stored hashes. The time does not depend on which one matches.
 * @param stored hashes of the live secrets; empty for an unknown client
 * @param leastComparisons with fewer stored hashes, missing ones are compared as well, so that the time does not show how
 *   many there are
 */
export function matchesSecret(presented: TokenHash, stored: readonly Buffer[], leastComparisons: number): boolean {
  let isFound = false
  for (let index = 0; index < Math.max(leastComparisons, stored.length); index++) {
    const expected = stored[index] ?? NO_SECRET
    isFound = (expected.length === presented.length && timingSafeEqual(expected, presented)) || isFound
  }
  return isFound
}
