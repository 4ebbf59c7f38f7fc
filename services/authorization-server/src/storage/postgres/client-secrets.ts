import { secretIdOf } from '@valetkey/oauth-protocol'
import { type Database, defineStatement } from '@valetkey/service-kit'
import type { Page } from './page.js'

/** What operators see of a client secret: never the secret or its hash. */
export type ClientSecret = {
  secretId: string
  createdAt: Date
  expiresAt: Date | undefined
  /** Accurate to a few minutes. */
  lastUsedAt: Date | undefined
  /** It had not expired when it was read, by Postgres's clock. */
  live: boolean
}

/** A secret among those of all clients. */
export type SecretOfClient = ClientSecret & { clientId: string; clientName: string }

type ClientSecretRow = {
  secret_hash: Buffer
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  live: boolean
}

/** The key of a client secret for `noteUse`. Neither id contains a space. */
export function clientSecretKey(clientId: string, secretId: string): string {
  return `${clientId} ${secretId}`
}

// The order of locks prevents deadlocks.
const noteSecretUse = defineStatement(
  'note_client_secret_use',
  `with used as (
    select client_id, secret_id, least(used_at, now()) as used_at
    from unnest(:clientIds::text[], :secretIds::text[], :usedAt::timestamptz[]) as u (client_id, secret_id, used_at)
  ), locked as (
    select s.client_id, s.secret_hash, used.used_at
    from client_secrets s join used on used.client_id = s.client_id
      and used.secret_id = left(encode(s.secret_hash, 'hex'), 12)
    order by s.client_id, s.secret_hash for update of s
  )
  update client_secrets s set last_used_at = locked.used_at from locked
  where s.client_id = locked.client_id and s.secret_hash = locked.secret_hash
    and (s.last_used_at is null or s.last_used_at < locked.used_at)`
)

const listLiveSecrets = defineStatement(
  'list_live_client_secrets',
  `select s.client_id, c.name, secret_hash, s.created_at, s.expires_at, s.last_used_at, true as live
  from client_secrets s join clients c using (client_id)
  where (s.expires_at is null or s.expires_at > now())
    and (s.client_id, left(encode(secret_hash, 'hex'), 12)) > (:clientId, :secretId)
  order by s.client_id, left(encode(secret_hash, 'hex'), 12) limit :limit`
)

export function createClientSecretStore(database: Database) {
  return {
    /** Including expired secrets; oldest first. */
    async list(clientId: string): Promise<ClientSecret[]> {
      const rows = await database.query<ClientSecretRow>({
        name: 'list_client_secrets',
        text: `select secret_hash, created_at, expires_at, last_used_at,
            expires_at is null or expires_at > now() as live from client_secrets
          where client_id = $1 order by created_at, secret_hash`,
        values: [clientId]
      })
      return rows.map(toSecret)
    },

    /** The valid ones of all clients, by client and id. @param after `clientSecretKey` */
    async listLive({ after = '', limit }: Page): Promise<SecretOfClient[]> {
      const [clientId = '', secretId = ''] = after.split(' ')
      const statement = listLiveSecrets({ clientId, secretId, limit })
      const rows = await database.query<ClientSecretRow & { client_id: string; name: string }>(statement)
      return rows.map((row) => ({ ...toSecret(row), clientId: row.client_id, clientName: row.name }))
    },

    /** Stores when secrets were last used; a time before the stored one changes nothing. @param uses by `clientSecretKey` */
    async noteUse(uses: ReadonlyMap<string, Date>): Promise<void> {
      const keys = [...uses.keys()].map((key) => key.split(' '))
      const [clientIds, secretIds] = [keys.map(([clientId]) => clientId), keys.map(([, secretId]) => secretId)]
      await database.query(noteSecretUse({ clientIds, secretIds, usedAt: [...uses.values()] }))
    }
  }
}

export type ClientSecretStore = ReturnType<typeof createClientSecretStore>

function toSecret(row: ClientSecretRow): ClientSecret {
  return {
    secretId: secretIdOf(row.secret_hash),
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    live: row.live
  }
}
