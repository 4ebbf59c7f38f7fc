import { randomUUID } from 'node:crypto'
import type { ActiveAccessToken, TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createIntrospectionStore } from '../../src/storage/introspections.js'
import { createResourceServerStore } from '../../src/storage/resource-servers.js'
import { newDigest } from './stored-grant.js'

/** What a resource server of its own would be told of a token, whatever the token's audience. */
export async function findLiveAccessToken(
  database: Database,
  tokenDigest: TokenDigest,
  now: Date
): Promise<ActiveAccessToken | undefined> {
  const secretDigest = newDigest()
  const caller = { clientId: `rs_${randomUUID()}`, name: 'a caller', audience: 'https://files.example' }
  await createResourceServerStore(database).create(caller, secretDigest, now)
  const asked = { clientId: caller.clientId, secretDigest, tokenDigest, now }
  return (await createIntrospectionStore(database).find(asked))?.accessToken
}
