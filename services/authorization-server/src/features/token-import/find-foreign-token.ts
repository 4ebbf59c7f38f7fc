import { hashToken, hasOwnPrefix } from '@valetkey/oauth-protocol'
import type { ForeignRefreshTokens } from '../../platform/foreign-refresh-tokens.js'
import type { ForeignTokenStore } from './foreign-token-store.js'

/** So long no look-up follows one that found the table empty. */
const EMPTY_FOR_MS = 1_000

/** `ory_rt_`, since version 2, then the key and, after the dot, its signature: each 32 bytes in base64url. */
const OF_HYDRA = /^(?:ory_rt_)?[A-Za-z0-9_-]{43}\.([A-Za-z0-9_-]{43})$/

/**
 * Finds refresh tokens of another server while its table has rows: one statement for each value. While the table is empty, at most one
 * statement in a second. A value with a prefix of this server is never looked up.
 * @param now milliseconds, of a clock that is never set
 */
export function createForeignTokenFinder(
  tokens: Pick<ForeignTokenStore, 'find'>,
  now: () => number = () => performance.now()
): ForeignRefreshTokens {
  let emptyUntil = Number.NEGATIVE_INFINITY
  return {
    async findHashedPart(value) {
      if (hasOwnPrefix(value) || now() < emptyUntil) return undefined
      const parts = hashedParts(value)
      const { found, isEmpty } = await tokens.find(parts.map(hashToken))
      if (isEmpty) emptyUntil = now() + EMPTY_FOR_MS
      return parts.find((part) => found?.equals(hashToken(part)))
    }
  }
}

/** Hydra stores only the signature of its tokens, so only that part is known of them. */
function hashedParts(value: string): readonly string[] {
  const [, signature] = OF_HYDRA.exec(value) ?? []
  return signature === undefined ? [value] : [value, signature]
}
