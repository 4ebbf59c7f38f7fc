import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'

/** How the routes' schemas become an OpenAPI 3.1 document. Routes without a schema stay out of it. */
export const openApiSettings: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.1',
    info: {
      title: 'Valetkey administration',
      version: '1',
      description: 'What the command line valetkey does, for programs of operators. On the operator listener only.'
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
