import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'

/** A caller of the introspection endpoint, and the audience whose tokens it may ask about. */
export type ResourceServer = { clientId: string; name: string; audience: string }

type ResourceServerRow = { client_id: string; name: string; audience: string; secret_hash: Buffer }

export function createResourceServerStore(database: Database) {
  async function findRow(clientId: string): Promise<ResourceServerRow | undefined> {
    const rows = await database.query<ResourceServerRow>({
      name: 'find_resource_server',
      text: 'select client_id, name, audience, secret_hash from resource_servers where client_id = $1',
      values: [clientId]
    })
    return rows[0]
  }

  return {
    /** @returns `exists` when the same id, audience and secret are there already, `conflict` when the id means another */
    async create(
      server: ResourceServer,
      secretDigest: TokenDigest,
      createdAt: Date
    ): Promise<'created' | 'exists' | 'conflict'> {
      const rows = await database.query<{ client_id: string }>({
        name: 'create_resource_server',
        text: `insert into resource_servers (client_id, name, audience, secret_hash, created_at)
          values ($1, $2, $3, $4, $5) on conflict (client_id) do nothing returning client_id`,
        values: [server.clientId, server.name, server.audience, secretDigest, createdAt]
      })
      if (rows.length > 0) return 'created'
      const found = await findRow(server.clientId)
      return found?.audience === server.audience && found.secret_hash.equals(secretDigest) ? 'exists' : 'conflict'
    },

    async findWithSecret(
      clientId: string
    ): Promise<{ resourceServer: ResourceServer; secretHash: Buffer } | undefined> {
      const row = await findRow(clientId)
      return row && toFound(row)
    },

    async list(): Promise<{ resourceServer: ResourceServer; secretHash: Buffer }[]> {
      const rows = await database.query<ResourceServerRow>({
        name: 'list_resource_servers',
        text: 'select client_id, name, audience, secret_hash from resource_servers',
        values: []
      })
      return rows.map(toFound)
    },

    async knowsAudience(audience: string): Promise<boolean> {
      const rows = await database.query<{ known: boolean }>({
        name: 'knows_audience',
        text: 'select exists (select 1 from resource_servers where audience = $1) as known',
        values: [audience]
      })
      return rows[0]?.known ?? false
    }
  }
}

export type ResourceServerStore = ReturnType<typeof createResourceServerStore>

function toFound(row: ResourceServerRow): { resourceServer: ResourceServer; secretHash: Buffer } {
  return {
    resourceServer: { clientId: row.client_id, name: row.name, audience: row.audience },
    secretHash: row.secret_hash
  }
}
