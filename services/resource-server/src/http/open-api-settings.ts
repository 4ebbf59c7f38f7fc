import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'

export type OpenApiDeps = {
  issuer: string
  resourceUrl: string
  /** Every scope, and what it is for. */
  scopes: Readonly<Record<string, string>>
}

/** How the routes' schemas become an OpenAPI 3.1 document. Routes without a schema stay out of it. */
export function openApiSettings({ issuer, resourceUrl, scopes }: OpenApiDeps): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.1',
      info: { title: 'Files', version: '1', description: "The list of a person's files, for apps that they allowed." },
      servers: [{ url: resourceUrl }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'RFC 6750: an access token in the header alone.' },
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
