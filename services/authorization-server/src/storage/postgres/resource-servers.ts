import { normalResource, type TokenHash } from '@valetkey/oauth-protocol'
import { type Database, isUniqueViolation, type Statement } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from './audited.js'
import { noteUseIn } from './note-use.js'

/** A caller of the introspection endpoint, and the audience whose tokens it may introspect. */
export type ResourceServer = {
  clientId: string
  /** The name for operators. */
  name: string
  audience: string
  /** The name of the API for users. */
  title?: string | undefined
  titleIn?: TitleIn
  /** Whether its access tokens are bound to a key of the client. Undefined: never. */
  dpop?: ApiDpop | undefined
  /** Its introspection says when the user signed in. */
  sendsAuthTime?: boolean | undefined
}

/** `allowed`: if the client proves a key. `required`: always. */
export type ApiDpop = 'allowed' | 'required'

/** The title in other languages, by language tag. */
export type TitleIn = Readonly<Record<string, string>>

/** An API that tokens can be issued for; it may have several credentials. */
export type Api = {
  audience: string
  title: string | undefined
  titleIn?: TitleIn
  dpop?: ApiDpop | undefined
  sendsAuthTime?: boolean
}

/** What operators see of a credential. */
export type ResourceServerRegistration = ResourceServer & {
  createdAt: Date
  /** Accurate to a few minutes. */
  lastUsedAt: Date | undefined
}

type ResourceServerRow = {
  client_id: string
  name: string
  audience: string
  title: string | null
  title_in: TitleIn
  dpop: ApiDpop | null
  secret_hash: Buffer
  sends_auth_time?: boolean
}
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

    /** Oldest first. */
    async list(): Promise<{ resourceServer: ResourceServer; secretHash: Buffer }[]> {
      const rows = await database.query<ResourceServerRow>({
        name: 'list_resource_servers',
        text: `select client_id, name, audience, title, title_in, dpop, secret_hash, audience in (select a.audience from apis_with_auth_time a) as sends_auth_time
          from resource_servers order by created_at, client_id`,
        values: []
      })
      return rows.map(toFound)
    },

    /** Oldest first. */
    async listRegistrations(): Promise<ResourceServerRegistration[]> {
      const rows = await database.query<RegistrationRow>({
        name: 'list_resource_server_registrations',
        text: `select client_id, name, audience, title, title_in, dpop, created_at, last_used_at from resource_servers
          order by created_at, client_id`,
        values: []
      })
      return rows.map((row) => ({
        clientId: row.client_id,
        name: row.name,
        audience: row.audience,
        title: row.title ?? undefined,
        titleIn: row.title_in,
        dpop: row.dpop ?? undefined,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at ?? undefined
      }))
    },

    async listApis(): Promise<readonly Api[]> {
      return apisOf((await this.list()).map(({ resourceServer }) => resourceServer))
    }
  }
}

const createServer = defineChange(
  'create_resource_server',
  `changed as (
    insert into resource_servers (client_id, name, audience, secret_hash, created_at, title, title_in, dpop, normal_audience)
    values (:clientId, :name, :audience, :secretHash, now(), :title, :titleIn, :dpop, :normalAudience)
    on conflict (client_id) do nothing returning client_id)`
)

const updateApi = defineChange(
  'update_api',
  `changed as (
    update resource_servers set title = :title, title_in = :titleIn, dpop = :dpop
    where audience = (select audience from resource_servers where client_id = :clientId) returning client_id)`
)

const deleteServer = defineChange(
  'delete_resource_server',
  'changed as (delete from resource_servers where client_id = :clientId returning client_id)'
)

function changeResourceServers(database: Database) {
  return {
    /**
     * @returns `exists`, with the stored name, if the same id, audience and secret exist; `conflict` if the id exists with
     *   another audience or secret; `other_spelling` if the API is registered with another spelling of its identifier
     */
    async create(
      server: ResourceServer,
      secretHash: TokenHash,
      note: AuditNote
    ): Promise<{ outcome: 'created' | 'conflict' | 'other_spelling' } | { outcome: 'exists'; name: string }> {
      const { clientId, name, audience, title, titleIn = {}, dpop } = server
      const api = { title, titleIn: JSON.stringify(titleIn), dpop, normalAudience: normalResource(audience) }
      const values = { clientId, name, audience, secretHash, ...api }
      const created = await createUnlessOtherSpelling(database, createServer(values, note))
      if (created !== false) return { outcome: created }
      const found = await findRow(database, clientId)
      const isSame = found?.audience === audience && found.secret_hash.equals(secretHash)
      return isSame ? { outcome: 'exists', name: found.name } : { outcome: 'conflict' }
    },

    /** Sets titles and binding of the API, on all of its credentials. @returns false if there is no such credential */
    async updateApi(clientId: string, api: Omit<Api, 'audience'>, note: AuditNote): Promise<boolean> {
      const { title, titleIn = {}, dpop } = api
      return makeAudited(database, updateApi({ clientId, title, titleIn: JSON.stringify(titleIn), dpop }, note))
    },

    async remove(clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, deleteServer({ clientId }, note))
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

/** @returns false if a credential with that id exists */
async function createUnlessOtherSpelling(
  database: Database,
  change: Statement
): Promise<'created' | 'other_spelling' | false> {
  try {
    return (await makeAudited(database, change)) && 'created'
  } catch (error) {
    if (isUniqueViolation(error)) return 'other_spelling'
    throw error
  }
}

/** The APIs of these credentials. Its titles are those of its first credential with one; of several bindings the strictest counts. */
export function apisOf(servers: readonly ResourceServer[]): readonly Api[] {
  return [...new Set(servers.map(({ audience }) => audience))].map((audience) => {
    const own = servers.filter((server) => server.audience === audience)
    const { title, titleIn = {} } = own.find((server) => server.title !== undefined) ?? { title: undefined }
    const sendsAuthTime = own.some((server) => server.sendsAuthTime)
    return { audience, title, titleIn, dpop: strictest(own), ...(sendsAuthTime && { sendsAuthTime }) }
  })
}

function strictest(servers: readonly Pick<ResourceServer, 'dpop'>[]): ApiDpop | undefined {
  return (['required', 'allowed'] as const).find((mode) => servers.some(({ dpop }) => dpop === mode))
}

async function findRow(database: Database, clientId: string): Promise<ResourceServerRow | undefined> {
  const rows = await database.query<ResourceServerRow>({
    name: 'find_resource_server',
    text: 'select client_id, name, audience, title, title_in, dpop, secret_hash from resource_servers where client_id = $1',
    values: [clientId]
  })
  return rows[0]
}

function toFound(row: ResourceServerRow): { resourceServer: ResourceServer; secretHash: Buffer } {
  return {
    resourceServer: {
      clientId: row.client_id,
      name: row.name,
      audience: row.audience,
      title: row.title ?? undefined,
      titleIn: row.title_in,
      dpop: row.dpop ?? undefined,
      ...(row.sends_auth_time && { sendsAuthTime: true })
    },
    secretHash: row.secret_hash
  }
}
