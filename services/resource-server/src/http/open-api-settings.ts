import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'

/** Options for an OpenAPI 3.1 document from the routes' schemas. Routes without a schema are omitted. */
export function openApiSettings({
  issuer,
  resourceUrl,
  scopes
}: {
  issuer: string
  resourceUrl: string
  /** Scope names and their meanings. */
  scopes: Readonly<Record<string, string>>
}): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Files',
        version: '1',
        description: 'Lists the files of a user for the apps that the user allowed.'
      },
      servers: [{ url: resourceUrl }],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'RFC 6750: an access token in the Authorization header only.'
          },
          oauth2: {
            type: 'oauth2',
            description: 'RFC 6749 §4.1, with PKCE (S256).',
            flows: {
              authorizationCode: {
                authorizationUrl: `${issuer}/oauth/authorize`,
                tokenUrl: `${issuer}/token`,
                refreshUrl: `${issuer}/token`,
                scopes: { ...scopes }
              }
            }
          }
        }
      }
    },
    exposeHeadRoutes: true,
    convertConstToEnum: false,
    transform: ({ schema, url }) => ({ schema: schema ?? { hide: true }, url })
  }
}
