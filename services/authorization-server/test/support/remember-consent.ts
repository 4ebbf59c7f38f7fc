import type { Database } from '@valetkey/service-kit'
import { AUTHORIZATION_GENERATION } from '../../src/storage/postgres/authorization-generation.js'
import { type AllowedScope, type ConsentKey, createConsentStore } from '../../src/storage/postgres/consents.js'

/** What Allow reads besides the scope. */
type AtAllow = Omit<AllowedScope, 'scope'>

/** The generations that Allow reads; those of an unknown user or client are 0. */
export async function readGenerations(
  { query }: Pick<Database, 'query'>,
  { userId, clientId }: Pick<ConsentKey, 'userId' | 'clientId'>
): Promise<AtAllow> {
  const [row] = await query<AtAllow>({
    name: 'test_read_generations',
    text: `select u.generation as "userGeneration", c.generation as "clientGeneration",
        ${AUTHORIZATION_GENERATION} as "authorizationGeneration", (select max(number) from scopes) as "newestScope"
      from users u join clients c on c.client_id = $2
      left join authorizations n on n.user_id = u.user_id and n.client_id = c.client_id where u.user_id = $1`,
    values: [userId, clientId]
  })
  return row ?? { userGeneration: 0, clientGeneration: 0, authorizationGeneration: 0, newestScope: 0 }
}

/** Remembers a consent as an Allow at this moment does. */
export async function rememberConsent(database: Database, key: ConsentKey, scope: readonly string[]): Promise<void> {
  const generations = await readGenerations(database, key)
  await createConsentStore(database).remember(key, { scope, declined: [], ...generations })
}
