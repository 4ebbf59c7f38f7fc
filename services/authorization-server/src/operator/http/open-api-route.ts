import type { FastifyPluginAsync } from 'fastify'

/** `GET /admin/openapi.json`: the OpenAPI document of the administration API. */
export const openApiRoute: FastifyPluginAsync = async (admin) => {
  let document: string | undefined
  admin.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify(admin.swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })
}
