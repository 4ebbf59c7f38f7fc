import type { ClientRecord, ClientStore } from '../postgres/clients.js'
import { apisOf, type ResourceServerStore } from '../postgres/resource-servers.js'
import type { NumberedScope, ScopeStore } from '../postgres/scopes.js'
import type { CachedRows } from './cached-table.js'

export type ResourceServerRecord = NonNullable<Awaited<ReturnType<ResourceServerStore['findWithSecret']>>>

// No function here is async: a lookup in the cache waits for nothing (npm run bench:gates).

/**
 * Reads clients from the cache if possible, otherwise from the store.
 * @param mayAppear whether requests of users create such a client: its first token request can come before the announcement of
 *   its row
 */
export function cachedClients(
  store: Pick<ClientStore, 'find' | 'findWithSecrets'>,
  cache: CachedRows<ClientRecord>,
  mayAppear: (clientId: string) => boolean = () => false
) {
  return {
    find(clientId: string): ReturnType<ClientStore['find']> {
      const found = cache.find(clientId)
      return found.isKnown ? Promise.resolve(found.row?.client) : store.find(clientId)
    },

    /** @param now the time of Postgres; the store compares the expiry of secrets with it by itself */
    findWithSecrets(clientId: string, now: Date): ReturnType<ClientStore['findWithSecrets']> {
      const found = cache.find(clientId)
      if (!found.isKnown || (found.row === undefined && mayAppear(clientId))) return store.findWithSecrets(clientId)
      const { client, secrets } = found.row ?? {}
      if (client === undefined || secrets === undefined || client.disabled) return Promise.resolve(undefined)
      const live = secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
      return Promise.resolve({ client, secretHashes: live.map(({ hash }) => hash) })
    }
  }
}

/** Reads scopes from the cache if possible, otherwise from the store. */
export function cachedScopes(store: Pick<ScopeStore, 'list'>, cache: CachedRows<NumberedScope>) {
  const toList = onceForEach((all: ReadonlyMap<string, NumberedScope>) => Promise.resolve([...all.values()]))
  return {
    list(): ReturnType<ScopeStore['list']> {
      const all = cache.all()
      return all === undefined ? store.list() : toList(all)
    }
  }
}

/** Reads resource servers from the cache if possible, otherwise from the store. */
export function cachedResourceServers(
  store: Pick<ResourceServerStore, 'findWithSecret' | 'listApis'>,
  cache: CachedRows<ResourceServerRecord>
) {
  const toApis = onceForEach((all: ReadonlyMap<string, ResourceServerRecord>) =>
    Promise.resolve(apisOf([...all.values()].map(({ resourceServer }) => resourceServer)))
  )
  return {
    findWithSecret(clientId: string): ReturnType<ResourceServerStore['findWithSecret']> {
      const found = cache.find(clientId)
      return found.isKnown ? Promise.resolve(found.row) : store.findWithSecret(clientId)
    },

    listApis(): ReturnType<ResourceServerStore['listApis']> {
      const all = cache.all()
      return all === undefined ? store.listApis() : toApis(all)
    }
  }
}

/** Computes a result again only for another map. A change of these two tables replaces the whole map (`registry.ts`). */
function onceForEach<Row, Result>(compute: (all: ReadonlyMap<string, Row>) => Result) {
  let last: { all: ReadonlyMap<string, Row>; result: Result } | undefined
  return (all: ReadonlyMap<string, Row>): Result => {
    if (last?.all !== all) last = { all, result: compute(all) }
    return last.result
  }
}
