import type { Client, TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'

/** A client with what only operators see. */
export type ClientRegistration = Client & {
  createdAt: Date
  disabled: boolean
  /** An operator has made sure who runs it. */
  verified: boolean
}

/** A client with all that is known of its secrets, whether they are live or not. */
export type ClientRecord = {
  client: ClientRegistration
  secrets: readonly { hash: Buffer; expiresAt: Date | undefined }[]
}

type ClientRow = {
  client_id: string
  name: string
  type: Client['type']
  redirect_uris: string[]
  required_scopes: string[]
  optional_scopes: string[]
  requires_pkce: boolean
  issues_refresh_tokens: boolean
  consent: Client['consent']
  created_at: Date
  disabled_at: Date | null
  verified_at: Date | null
}

const COLUMNS = `client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
  issues_refresh_tokens, consent, created_at, disabled_at, verified_at`

export function createClientStore(database: Database) {
  return {
    /** Client and first secret in one statement; a public client has no secret. */
    async create(client: ClientRegistration, secretDigest: TokenDigest | undefined): Promise<void> {
      await database.query({
        name: 'create_client',
        text: `with created as (
            insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
              issues_refresh_tokens, consent, created_at, verified_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12)
            returning client_id
          )
          insert into client_secrets (client_id, secret_hash, created_at)
          select client_id, $11::bytea, $10 from created where $11::bytea is not null`,
        values: [
          client.clientId,
          client.name,
          client.type,
          client.redirectUris,
          client.requiredScopes,
          client.optionalScopes,
          client.requiresPkce,
          client.issuesRefreshTokens,
          client.consent,
          client.createdAt,
          secretDigest,
          client.verified ? client.createdAt : undefined
        ]
      })
    },

    async list(): Promise<ClientRegistration[]> {
      const rows = await database.query<ClientRow>({
        name: 'list_clients',
        text: `select ${COLUMNS} from clients order by created_at, client_id`,
        values: []
      })
      return rows.map(toRegistration)
    },

    async find(clientId: string): Promise<ClientRegistration | undefined> {
      const rows = await database.query<ClientRow>({
        name: 'find_client',
        text: `select ${COLUMNS} from clients where client_id = $1`,
        values: [clientId]
      })
      return rows.map(toRegistration)[0]
    },

    /** For the registry, which compares the expiry of a secret at each look-up. */
    async listWithSecrets(clientIds: readonly string[] | 'all'): Promise<ClientRecord[]> {
      const isAll = clientIds === 'all'
      const rows = await database.query<ClientRow & { hashes: Buffer[]; expiries: (Date | null)[] }>({
        name: isAll ? 'list_clients_with_secrets' : 'list_some_clients_with_secrets',
        text: `select ${COLUMNS}, hashes, expiries
          from clients cross join lateral (
            select coalesce(array_agg(s.secret_hash order by s.secret_hash), '{}') as hashes,
              coalesce(array_agg(s.expires_at order by s.secret_hash), '{}') as expiries
            from client_secrets s where s.client_id = clients.client_id
          ) as secrets
          ${isAll ? '' : 'where client_id = any ($1)'}`,
        values: isAll ? [] : [clientIds]
      })
      return rows.map((row) => ({
        client: toRegistration(row),
        secrets: row.hashes.map((hash, index) => ({ hash, expiresAt: row.expiries[index] ?? undefined }))
      }))
    },

    /** An enabled client with the hashes of its live secrets, for client authentication. */
    async findWithSecrets(
      clientId: string,
      now: Date
    ): Promise<{ client: Client; secretHashes: Buffer[] } | undefined> {
      const rows = await database.query<ClientRow & { secret_hashes: Buffer[] }>({
        name: 'find_client_with_secrets',
        text: `select ${COLUMNS}, array(
            select s.secret_hash from client_secrets s
            where s.client_id = clients.client_id and (s.expires_at is null or s.expires_at > $2)
          ) as secret_hashes
          from clients where client_id = $1 and disabled_at is null`,
        values: [clientId, now]
      })
      return rows.map((row) => ({ client: toRegistration(row), secretHashes: row.secret_hashes }))[0]
    }
  }
}

export type ClientStore = ReturnType<typeof createClientStore>

function toRegistration(row: ClientRow): ClientRegistration {
  return {
    clientId: row.client_id,
    name: row.name,
    type: row.type,
    redirectUris: row.redirect_uris,
    requiredScopes: row.required_scopes,
    optionalScopes: row.optional_scopes,
    requiresPkce: row.requires_pkce,
    issuesRefreshTokens: row.issues_refresh_tokens,
    consent: row.consent,
    createdAt: row.created_at,
    disabled: row.disabled_at !== null,
    verified: row.verified_at !== null
  }
}
