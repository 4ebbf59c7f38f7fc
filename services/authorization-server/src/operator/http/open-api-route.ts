import type { FastifyPluginAsync } from 'fastify'

/** `GET /admin/openapi.json`: what the API is, for tools. */
export const openApiRoute: FastifyPluginAsync = async (admin) => {
  let document: string | undefined
  admin.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify(admin.swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })
}
