import { type Database, defineStatement } from '@valetkey/service-kit'
import type { FetchedKeys } from '../../storage/postgres/client-keys.js'

// The newest of several fetches counts. A client that has another `jwks_uri` by now keeps the keys of that one.
const saveKeySet = defineStatement(
  'save_client_key_set',
  `insert into client_key_sets (client_id, jwks_uri, keys, fetched_at, fresh_until)
  select client_id, jwks_uri, :keys::jsonb, :fetchedAt::timestamptz, :freshUntil::timestamptz from clients
  where client_id = :clientId and jwks_uri is not distinct from :jwksUri::text for key share
  on conflict (client_id) do update set jwks_uri = excluded.jwks_uri, keys = excluded.keys,
    fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until
  where client_key_sets.fetched_at < excluded.fetched_at
    or client_key_sets.jwks_uri is distinct from excluded.jwks_uri`
)

/** The keys that clients publish, in Postgres: so every process has them, also after a restart. */
export function createClientKeySetStore(database: Database) {
  return {
    /** @param client.jwksUri undefined: the keys are in the client's document */
    async save(
      { clientId, jwksUri }: { clientId: string; jwksUri: string | undefined },
      { keys, at, freshUntil }: FetchedKeys
    ): Promise<void> {
      const values = { clientId, jwksUri, keys: JSON.stringify(keys), fetchedAt: at, freshUntil }
      await database.query(saveKeySet(values))
    }
  }
}

export type ClientKeySetStore = ReturnType<typeof createClientKeySetStore>
