import type { FastifyPluginAsync } from 'fastify'
import { addEntityTag } from './entity-tag.js'

/** `GET /v1/openapi.json`: the description of the API. Public. */
export const openApiRoute: FastifyPluginAsync = async (server) => {
  let document: string | undefined
  server.addHook('onReady', async () => {
    document = JSON.stringify(server.swagger())
  })
  server.addHook('onSend', addEntityTag)
  server.route({
    // The HEAD route that Fastify adds cannot respond with 304.
    method: ['GET', 'HEAD'],
    url: '/v1/openapi.json',
    schema: { hide: true },
    async handler(_request, reply) {
      reply.header('cache-control', 'public, max-age=300')
      return reply.type('application/json; charset=utf-8').send(document)
    }
  })
}
