import { expiryBucket, type TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createIntrospectionStore, type FoundAccessToken } from '../../src/storage/postgres/introspections.js'
import { atTime } from './postgres-clock.js'

/** The introspection result of a token, for any audience. */
export async function findLiveAccessToken(
  database: Database,
  tokenHash: TokenHash,
  now: Date
): Promise<FoundAccessToken | undefined> {
  // The bucket that a real token contains.
  const text = 'select expires_at from access_tokens where token_hash = $1'
  const rows = await database.query<{ expires_at: Date }>({ name: 'test_expiry_of_token', text, values: [tokenHash] })
  const token = { hash: tokenHash, bucket: expiryBucket(rows[0]?.expires_at ?? now) }
  return createIntrospectionStore(atTime(database, now)).find(token)
}
