import type { Logger } from '@valetkey/service-kit'
import type { ClientRecord, ClientStore } from '../postgres/clients.js'
import type { RegistryAnnouncements } from '../postgres/registry-announcements.js'
import type { ResourceServerStore } from '../postgres/resource-servers.js'
import type { NumberedScope, ScopeStore } from '../postgres/scopes.js'
import { cachedClients, cachedResourceServers, cachedScopes, type ResourceServerRecord } from './cached-stores.js'
import { type CachedRows, type CachedTable, cacheTable, type ReadRows } from './cached-table.js'
import { readChange } from './table-memory.js'

export type RegistryStores = {
  announcements: RegistryAnnouncements
  clients: Pick<ClientStore, 'find' | 'findWithSecrets' | 'listWithSecrets'>
  scopes: Pick<ScopeStore, 'list'>
  resourceServers: Pick<ResourceServerStore, 'findWithSecret' | 'listApis' | 'list'>
}

/** The row of each cached table. */
type Rows = { clients: ClientRecord; scopes: NumberedScope; resource_servers: ResourceServerRecord }
type Table = keyof Rows
type Cache = { [Name in Table]: CachedTable<Rows[Name]> }

const NOT_CACHED = { isKnown: false } as const

const TABLES = ['clients', 'scopes', 'resource_servers'] as const satisfies readonly Table[]

/**
 * A cache around three stores (ADR 0016): clients with their secrets, scopes and resource servers. The cache is used only
 * while it is verified that this process receives every change; otherwise each lookup is one statement, whether the row exists
 * or not. Gain: an exchange or an introspection costs one statement instead of two (`npm run bench:gates`).
 * @param onBypass is called for each lookup that reads from Postgres because the cache cannot be used
 * @param mayAppear see `cachedClients`
 */
export function createRegistry(
  stores: RegistryStores,
  onBypass: (table: Table) => void = () => {},
  mayAppear?: (clientId: string) => boolean
) {
  /** Undefined while there is no LISTEN connection. */
  let current: { cache: Cache; isVerified: () => boolean } | undefined

  function cached<Name extends Table>(table: Name): CachedRows<Rows[Name]> {
    // Asked at each lookup: a timer can fire too late.
    const usable = (): Cache[Name] | undefined => (current?.isVerified() ? current.cache[table] : undefined)
    return {
      find(key) {
        const found = usable()?.find(key) ?? NOT_CACHED
        if (!found.isKnown) onBypass(table)
        return found
      },
      all() {
        const all = usable()?.all()
        if (all === undefined) onBypass(table)
        return all
      }
    }
  }

  return {
    clients: cachedClients(stores.clients, cached('clients'), mayAppear),
    scopes: cachedScopes(stores.scopes, cached('scopes')),
    resourceServers: cachedResourceServers(stores.resourceServers, cached('resource_servers')),

    /** Is called with the notifications of the LISTEN connection, in the order of the commits. */
    follower: {
      /**
       * A LISTEN connection is open: rows are cached until it ends.
       * @param isVerified whether all changes that were committed until one second ago have been received
       */
      begin(isVerified: () => boolean, logger: Logger | undefined): void {
        current = { cache: loadCache(stores, logger), isVerified }
      },

      /** @returns whether credentials of resource servers may have changed */
      applyChange(payload: string): boolean {
        const change = readChange(payload)
        const changed = change === undefined ? TABLES : TABLES.filter((each) => each === change.table)
        for (const table of changed) {
          // The other tables are so small that they are read again as a whole.
          current?.cache[table].invalidate(table === 'clients' ? change?.key : undefined)
        }
        return changed.includes('resource_servers')
      },

      end(): void {
        for (const table of TABLES) current?.cache[table].stop()
        current = undefined
      }
    }
  }
}

/** Starts to load the three tables. */
function loadCache({ announcements, clients, scopes, resourceServers }: RegistryStores, logger?: Logger): Cache {
  function load<Row>(table: Table, read: ReadRows<Row>): CachedTable<Row> {
    return cacheTable(
      async (keys) => {
        // Without the triggers, changes after this load would not be received.
        if (keys === 'all') await announcements.mustBeInPlace()
        return read(keys)
      },
      {
        loaded: () => logger?.info({ event: 'registry_loaded', table }, `${table} are cached`),
        failed: (err) =>
          logger?.warn({ event: 'registry_load_failed', table, err }, `${table} are not cached; trying again`)
      }
    )
  }

  return {
    clients: load('clients', async (clientIds) =>
      byKey(await clients.listWithSecrets(clientIds), ({ client }) => client.clientId)
    ),
    scopes: load('scopes', async () => byKey(await scopes.list(), ({ name }) => name)),
    resource_servers: load('resource_servers', async () =>
      byKey(await resourceServers.list(), ({ resourceServer }) => resourceServer.clientId)
    )
  }
}

function byKey<Row>(rows: readonly Row[], keyOf: (row: Row) => string): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [keyOf(row), row]))
}
