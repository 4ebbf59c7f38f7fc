import { serverMetadata } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import type { ScopeStore } from '../../storage/postgres/scopes.js'

/** `GET /.well-known/oauth-authorization-server` (RFC 8414). The response depends on the configuration and not on the request. */
export const metadataRoutes: FastifyPluginAsync<{
  issuer: string
  path: string
  /** Tags of the languages of the pages. */
  languages: readonly string[]
  scopes: Pick<ScopeStore, 'list'>
  discoversClients: boolean
}> = async (oauth, options) => {
  const { issuer, path, languages, scopes, discoversClients } = options
  oauth.get(path, async (_request, reply) => {
    const catalogue = await scopes.list()
    reply.header('cache-control', 'public, max-age=300')
    return serverMetadata({ issuer, scopes: catalogue.map((scope) => scope.name), languages, discoversClients })
  })
}
