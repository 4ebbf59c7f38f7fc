import { protectedResourceMetadata, protectedResourceMetadataPath } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'

type MetadataOptions = { resource: string; issuer: string; scopesSupported: readonly string[] }

/** RFC 9728: how a client that was turned away finds the authorization server. Public, and readable from any page. */
export const metadataRoute: FastifyPluginAsync<MetadataOptions> = async (server, options) => {
  const document = protectedResourceMetadata({
    resource: options.resource,
    authorizationServers: [options.issuer],
    scopesSupported: options.scopesSupported
  })
  server.get(protectedResourceMetadataPath(options.resource), async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=300')
    return document
  })
}
