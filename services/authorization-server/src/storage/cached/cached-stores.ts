import type { ClientRecord, ClientStore } from '../postgres/clients.js'
import { type Api, apisOf, type ResourceServerStore } from '../postgres/resource-servers.js'
import type { NumberedScope, ScopeStore } from '../postgres/scopes.js'
import type { CachedRows } from './cached-table.js'

export type ResourceServerRecord = NonNullable<Awaited<ReturnType<ResourceServerStore['findWithSecret']>>>

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
    async find(clientId: string): ReturnType<ClientStore['find']> {
      const found = cache.find(clientId)
      return found.isKnown ? found.row?.client : store.find(clientId)
    },

    /** @param now the time of Postgres; the store compares the expiry of secrets with it by itself */
    async findWithSecrets(clientId: string, now: Date): ReturnType<ClientStore['findWithSecrets']> {
      const found = cache.find(clientId)
      if (!found.isKnown || (found.row === undefined && mayAppear(clientId))) return store.findWithSecrets(clientId)
      const { client, secrets } = found.row ?? {}
      if (client === undefined || secrets === undefined || client.disabled) return undefined
      const live = secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
      return { client, secretHashes: live.map(({ hash }) => hash) }
    }
  }
}

/** Reads scopes from the cache if possible, otherwise from the store. */
export function cachedScopes(store: Pick<ScopeStore, 'list'>, cache: CachedRows<NumberedScope>) {
  return {
    async list(): ReturnType<ScopeStore['list']> {
      const all = cache.all()
      return all === undefined ? store.list() : [...all.values()]
    }
  }
}

/** Reads resource servers from the cache if possible, otherwise from the store. */
export function cachedResourceServers(
  store: Pick<ResourceServerStore, 'findWithSecret' | 'listApis'>,
  cache: CachedRows<ResourceServerRecord>
) {
  return {
    async findWithSecret(clientId: string): ReturnType<ResourceServerStore['findWithSecret']> {
      const found = cache.find(clientId)
      return found.isKnown ? found.row : store.findWithSecret(clientId)
    },

    async listApis(): Promise<readonly Api[]> {
      const all = cache.all()
      return all === undefined
        ? store.listApis()
        : apisOf([...all.values()].map(({ resourceServer }) => resourceServer))
    }
  }
}
