import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, audited } from './audited.js'
import { noteUseIn } from './note-use.js'

/** A caller of the introspection endpoint, and the audience whose tokens it may introspect. */
export type ResourceServer = { clientId: string; name: string; audience: string }

/** What operators see of a credential. */
export type ResourceServerRegistration = ResourceServer & {
  createdAt: Date
  /** Accurate to a few minutes. */
  lastUsedAt: Date | undefined
}

type ResourceServerRow = { client_id: string; name: string; audience: string; secret_hash: Buffer }
type RegistrationRow = Omit<ResourceServerRow, 'secret_hash'> & { created_at: Date; last_used_at: Date | null }

export function createResourceServerStore(database: Database) {
  return { ...findResourceServers(database), ...changeResourceServers(database) }
}

export type ResourceServerStore = ReturnType<typeof createResourceServerStore>

function findResourceServers(database: Database) {
  return {
    async findWithSecret(
      clientId: string
    ): Promise<{ resourceServer: ResourceServer; secretHash: Buffer } | undefined> {
      const row = await findRow(database, clientId)
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

    /** Oldest first. */
    async listRegistrations(): Promise<ResourceServerRegistration[]> {
      const rows = await database.query<RegistrationRow>({
        name: 'list_resource_server_registrations',
        text: `select client_id, name, audience, created_at, last_used_at from resource_servers
          order by created_at, client_id`,
        values: []
      })
      return rows.map((row) => ({
        clientId: row.client_id,
        name: row.name,
        audience: row.audience,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at ?? undefined
      }))
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

function changeResourceServers(database: Database) {
  return {
    /**
     * @returns `exists`, with the stored name, if the same id, audience and secret exist; `conflict` if the id exists with
     *   another audience or secret
     */
    async create(
      server: ResourceServer,
      secretHash: TokenHash,
      note: AuditNote
    ): Promise<{ outcome: 'created' | 'conflict' } | { outcome: 'exists'; name: string }> {
      const change = {
        name: 'create_resource_server',
        parts: `changed as (
          insert into resource_servers (client_id, name, audience, secret_hash, created_at)
          values ($1, $2, $3, $4, now()) on conflict (client_id) do nothing returning client_id)`,
        result: 'select client_id from changed',
        values: [server.clientId, server.name, server.audience, secretHash]
      }
      const rows = await database.query(audited(change, note))
      if (rows.length > 0) return { outcome: 'created' }
      const found = await findRow(database, server.clientId)
      const isSame = found?.audience === server.audience && found.secret_hash.equals(secretHash)
      return isSame ? { outcome: 'exists', name: found.name } : { outcome: 'conflict' }
    },

    async remove(clientId: string, note: AuditNote): Promise<boolean> {
      const change = {
        name: 'delete_resource_server',
        parts: 'changed as (delete from resource_servers where client_id = $1 returning client_id)',
        result: 'select client_id from changed',
        values: [clientId]
      }
      return (await database.query(audited(change, note))).length > 0
    },

    /** Stores when credentials were last used; a time before the stored one changes nothing. */
    async noteUse(uses: ReadonlyMap<string, Date>): Promise<void> {
      const kind = {
        name: 'note_resource_server_use',
        table: 'resource_servers',
        key: 'client_id',
        type: 'text',
        order: 'client_id'
      } as const
      await database.query(noteUseIn(kind, uses))
    }
  }
}

async function findRow(database: Database, clientId: string): Promise<ResourceServerRow | undefined> {
  const rows = await database.query<ResourceServerRow>({
    name: 'find_resource_server',
    text: 'select client_id, name, audience, secret_hash from resource_servers where client_id = $1',
    values: [clientId]
  })
  return rows[0]
}

function toFound(row: ResourceServerRow): { resourceServer: ResourceServer; secretHash: Buffer } {
  return {
    resourceServer: { clientId: row.client_id, name: row.name, audience: row.audience },
    secretHash: row.secret_hash
  }
}
