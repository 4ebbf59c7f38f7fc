import type { ActiveAccessToken, TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createIntrospectionStore } from '../../src/storage/introspections.js'

/** What a resource server would be told of a token, whatever the token's audience. */
export async function findLiveAccessToken(
  database: Database,
  tokenDigest: TokenDigest,
  now: Date
): Promise<ActiveAccessToken | undefined> {
  return createIntrospectionStore(database).find({ tokenDigest, now })
}
