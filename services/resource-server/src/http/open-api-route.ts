import type { FastifyPluginAsync } from 'fastify'
import { answerWithEntityTag } from './entity-tag.js'

/** `GET /v1/openapi.json`: what the API is, for tools. Public, and readable from any page. */
export const openApiRoute: FastifyPluginAsync = async (server) => {
  let document: string | undefined
  server.addHook('onReady', async () => {
    document = JSON.stringify(server.swagger())
  })
  server.addHook('onSend', answerWithEntityTag)
  server.route({
    // HEAD by hand: the one that Fastify adds cannot answer 304.
    method: ['GET', 'HEAD'],
    url: '/v1/openapi.json',
    schema: { hide: true },
    async handler(_request, reply) {
      reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=300')
      return reply.type('application/json; charset=utf-8').send(document)
    }
  })
}
