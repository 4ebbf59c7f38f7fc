import type { Logger } from '@valetkey/service-kit'
import type { ClientRecord, ClientStore } from '../postgres/clients.js'
import type { RegistryAnnouncements } from '../postgres/registry-announcements.js'
import type { ResourceServerStore } from '../postgres/resource-servers.js'
import type { Scope, ScopeStore } from '../postgres/scopes.js'
import { type ReadRows, type RememberedTable, rememberTable } from './remembered-table.js'
import { readChange } from './table-memory.js'

export type RegistryStores = {
  announcements: RegistryAnnouncements
  clients: Pick<ClientStore, 'find' | 'findWithSecrets' | 'listWithSecrets'>
  scopes: Pick<ScopeStore, 'list'>
  resourceServers: Pick<ResourceServerStore, 'findWithSecret' | 'knowsAudience' | 'list'>
}

type FoundResourceServer = NonNullable<Awaited<ReturnType<ResourceServerStore['findWithSecret']>>>

type Session = {
  isVerified(): boolean
  clients: RememberedTable<ClientRecord>
  scopes: RememberedTable<Scope>
  resource_servers: RememberedTable<FoundResourceServer>
}

const TABLES = ['clients', 'scopes', 'resource_servers'] as const

type Table = (typeof TABLES)[number]

/**
 * What operators register, in memory: clients with their secrets, scopes, resource servers. Each look-up is answered from
 * there as long as it is proved that this process hears of every change, and else from Postgres: one statement, whether
 * there is what was asked for or not.
 * @param onBypass hears of each look-up that goes to Postgres
 */
export function createRegistry(stores: RegistryStores, onBypass: (table: Table) => void = () => {}) {
  let session: Session | undefined

  /** The session, while it may answer: the proof is looked at each time, for a timer may be late. */
  const proved = (): Session | undefined => (session?.isVerified() ? session : undefined)

  function findRecord(clientId: string) {
    const found = proved()?.clients.find(clientId) ?? ({ isKnown: false } as const)
    if (!found.isKnown) onBypass('clients')
    return found
  }

  return {
    clients: {
      async find(clientId: string): ReturnType<ClientStore['find']> {
        const found = findRecord(clientId)
        return found.isKnown ? found.row?.client : stores.clients.find(clientId)
      },

      /** @param now Postgres's time, for what is answered from memory */
      async findWithSecrets(clientId: string, now: Date): ReturnType<ClientStore['findWithSecrets']> {
        const found = findRecord(clientId)
        if (!found.isKnown) return stores.clients.findWithSecrets(clientId)
        const { client, secrets } = found.row ?? {}
        if (client === undefined || secrets === undefined || client.disabled) return undefined
        const live = secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
        return { client, secretHashes: live.map(({ hash }) => hash) }
      }
    },

    scopes: {
      async list(): ReturnType<ScopeStore['list']> {
        const scopes = proved()?.scopes.all()
        if (scopes !== undefined) return [...scopes.values()]
        onBypass('scopes')
        return stores.scopes.list()
      }
    },

    resourceServers: {
      async findWithSecret(clientId: string): ReturnType<ResourceServerStore['findWithSecret']> {
        const found = proved()?.resource_servers.find(clientId)
        if (found?.isKnown) return found.row
        onBypass('resource_servers')
        return stores.resourceServers.findWithSecret(clientId)
      },

      async knowsAudience(audience: string): Promise<boolean> {
        const all = proved()?.resource_servers.all()
        if (all !== undefined)
          return [...all.values()].some(({ resourceServer }) => resourceServer.audience === audience)
        onBypass('resource_servers')
        return stores.resourceServers.knowsAudience(audience)
      }
    },

    /** What the holder of the LISTEN connection tells, in the order in which Postgres does. */
    follower: {
      /**
       * A session has begun to listen: what is read from now on is kept until it ends.
       * @param isVerified whether all that was committed up to a second ago has been heard
       */
      begin(isVerified: () => boolean, logger: Logger | undefined): void {
        session = openSession(stores, isVerified, logger)
      },

      /** @returns whether credentials of resource servers may have changed */
      hear(payload: string): boolean {
        const change = readChange(payload)
        const changed = change === undefined ? TABLES : TABLES.filter((each) => each === change.table)
        for (const table of changed) {
          // Only of clients there are so many that one is read alone.
          session?.[table].change(table === 'clients' ? change?.key : undefined)
        }
        return changed.includes('resource_servers')
      },

      end(): void {
        for (const table of TABLES) session?.[table].stop()
        session = undefined
      }
    }
  }
}

export type Registry = ReturnType<typeof createRegistry>

function openSession(stores: RegistryStores, isVerified: () => boolean, logger: Logger | undefined): Session {
  const on = (table: string) => ({
    loaded: () => logger?.info({ event: 'registry_loaded', table }, 'answers from memory'),
    failed: (err: unknown) =>
      logger?.warn({ event: 'registry_load_failed', table, err }, 'each is asked for; reading again')
  })
  const readClients: ReadRows<ClientRecord> = async (clientIds) =>
    new Map((await stores.clients.listWithSecrets(clientIds)).map((record) => [record.client.clientId, record]))
  const readScopes = async () => new Map((await stores.scopes.list()).map((scope) => [scope.name, scope]))
  const readResourceServers = async () =>
    new Map((await stores.resourceServers.list()).map((found) => [found.resourceServer.clientId, found]))
  // Whoever reads all of a table relies on hearing of what changes afterwards.
  const announced =
    <Row>(read: ReadRows<Row>): ReadRows<Row> =>
    async (keys) => {
      if (keys === 'all') await stores.announcements.mustBeInPlace()
      return read(keys)
    }
  return {
    isVerified,
    clients: rememberTable(announced(readClients), on('clients')),
    scopes: rememberTable(announced(readScopes), on('scopes')),
    resource_servers: rememberTable(announced(readResourceServers), on('resource_servers'))
  }
}
