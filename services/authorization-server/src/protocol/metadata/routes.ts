import { serverMetadata } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import type { ScopeStore } from '../../storage/postgres/scopes.js'

/** Members that features add. */
export type ServerMetadataMembers = Readonly<Record<string, string | boolean | readonly string[]>>

/** `GET /.well-known/oauth-authorization-server` (RFC 8414). The response depends on the configuration and not on the request. */
export const metadataRoutes: FastifyPluginAsync<{
  issuer: string
  path: string
  /** Tags of the languages of the pages. */
  languages: readonly string[]
  scopes: Pick<ScopeStore, 'list'>
  discoversClients: boolean
  /** Algorithms of the assertions that clients may sign; undefined: they may not. */
  assertionAlgorithms: readonly string[] | undefined
  added: ServerMetadataMembers
}> = async (oauth, { path, scopes, added, ...server }) => {
  oauth.get(path, async (_request, reply) => {
    const catalogue = await scopes.list()
    reply.header('cache-control', 'public, max-age=300')
    const names = catalogue.map((scope) => scope.name)
    return { ...serverMetadata({ ...server, scopes: names }), ...added }
  })
}
