import { readFileSync } from 'node:fs'
import type { FastifyPluginAsync } from 'fastify'
import { parse } from 'yaml'

/** Stands for the issuer in the stored document. */
const EXAMPLE_ISSUER = 'https://auth.example.org'

export type OpenApiDocumentOptions = { document: 'public' | 'internal'; issuer: string }

/**
 * `GET /openapi.json`: the stored OpenAPI document of a listener. Its endpoints validate forms by the RFCs' rules and not by
 * schemas, so the document is written by hand, and a test compares it with the routes.
 */
export const openApiDocumentRoute: FastifyPluginAsync<OpenApiDocumentOptions> = async (server, options) => {
  let document: string | undefined
  server.get('/openapi.json', async (_request, reply) => {
    document ??= JSON.stringify(readOpenApiDocument(options))
    reply.header('cache-control', 'public, max-age=300')
    return reply.type('application/json; charset=utf-8').send(document)
  })
}

export function readOpenApiDocument({ document, issuer }: OpenApiDocumentOptions): object {
  const text = readFileSync(new URL(`../../openapi/${document}.yaml`, import.meta.url), 'utf8')
  return parse(text.replaceAll(EXAMPLE_ISSUER, issuer))
}
