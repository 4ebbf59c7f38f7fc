import { type Database, defineStatement } from '@valetkey/service-kit'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'

/** A registered public key of a client, as operators and developers see it. */
export type ClientKey = {
  kid: string
  jwk: StoredJwk
  createdAt: Date
  /** Accurate to a few minutes. */
  lastUsedAt: Date | undefined
}

// The order of locks prevents deadlocks.
const noteKeyUse = defineStatement(
  'note_client_key_use',
  `with used as (
    select client_id, kid, least(used_at, now()) as used_at
    from unnest(:clientIds::text[], :kids::text[], :usedAt::timestamptz[]) as u (client_id, kid, used_at)
  ), locked as (
    select k.client_id, k.kid, used.used_at
    from client_keys k join used on used.client_id = k.client_id and used.kid = k.kid
    order by k.client_id, k.kid for update of k
  )
  update client_keys k set last_used_at = locked.used_at from locked
  where k.client_id = locked.client_id and k.kid = locked.kid
    and (k.last_used_at is null or k.last_used_at < locked.used_at)`
)

/** The key of a client for `noteUse`. A client id has no space. */
export const clientKeyName = (clientId: string, kid: string) => `${clientId} ${kid}`

export function createClientKeyStore(database: Database) {
  return {
    /** Oldest first. */
    async list(clientId: string): Promise<ClientKey[]> {
      const rows = await database.query<{ kid: string; jwk: StoredJwk; created_at: Date; last_used_at: Date | null }>({
        name: 'list_client_keys',
        text: `select kid, jwk, created_at, last_used_at from client_keys where client_id = $1 order by created_at, kid`,
        values: [clientId]
      })
      return rows.map(({ kid, jwk, created_at: createdAt, last_used_at: lastUsedAt }) => ({
        kid,
        jwk,
        createdAt,
        lastUsedAt: lastUsedAt ?? undefined
      }))
    },

    /** Stores when keys were last used; a time before the stored one changes nothing. @param uses by `clientKeyName` */
    async noteUse(uses: ReadonlyMap<string, Date>): Promise<void> {
      const names = [...uses.keys()].map((name) => [
        name.slice(0, name.indexOf(' ')),
        name.slice(name.indexOf(' ') + 1)
      ])
      const [clientIds, kids] = [names.map(([clientId]) => clientId), names.map(([, kid]) => kid)]
      await database.query(noteKeyUse({ clientIds, kids, usedAt: [...uses.values()] }))
    }
  }
}

export type ClientKeyStore = ReturnType<typeof createClientKeyStore>
