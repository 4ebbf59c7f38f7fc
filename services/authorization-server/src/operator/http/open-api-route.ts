import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyPluginAsync } from 'fastify'

/** `GET /admin/openapi.json`: the OpenAPI document of the administration API. */
export const openApiRoute: FastifyPluginAsync = async (admin) => {
  let document: string | undefined
  admin.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify(admin.swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })
}

/** Options for an OpenAPI 3.1 document from the routes' schemas. Routes without a schema are omitted. */
export const openApiSettings: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.1',
    info: {
      title: 'Valetkey administration',
      version: '1',
      description: 'The commands of valetkey as an API for programs of operators. On the operator listener only.'
    },
    components: {
      securitySchemes: {
        operatorKey: { type: 'http', scheme: 'bearer', description: 'From "valetkey operator-keys create".' }
      }
    },
    security: [{ operatorKey: [] }]
  },
  convertConstToEnum: false,
  transform: ({ schema, url }) => ({ schema: schema ?? { hide: true }, url })
}
