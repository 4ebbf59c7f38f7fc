import type { FastifyPluginAsync } from 'fastify'
import type { OpenApiDocumentOptions } from './open-api-document.js'

/**
 * `GET /openapi.json`: the stored OpenAPI document of a listener. Its endpoints validate forms by the RFCs' rules and not by
 * schemas, so the document is written by hand, and a test compares it with the routes. It is read at the first request, so that
 * a service starts without a parser of YAML.
 */
export const openApiDocumentRoute: FastifyPluginAsync<OpenApiDocumentOptions> = async (server, options) => {
  let document: string | undefined
  server.get('/openapi.json', async (_request, reply) => {
    document ??= await read(options)
    reply.header('cache-control', 'public, max-age=300')
    return reply.type('application/json; charset=utf-8').send(document)
  })
}

async function read(options: OpenApiDocumentOptions): Promise<string> {
  const { readOpenApiDocument } = await import('./open-api-document.js')
  return JSON.stringify(readOpenApiDocument(options))
}
