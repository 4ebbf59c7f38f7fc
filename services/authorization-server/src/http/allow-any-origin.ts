import type { FastifyInstance } from 'fastify'

/**
 * CORS for endpoints that apps in a browser call themselves (OAuth 2.1 §3.2). They look at no cookie, so any origin may.
 * A preflight names no client, so nothing here depends on one. Never for pages, the authorization endpoint least of all.
 */
export function allowAnyOrigin(
  oauth: FastifyInstance,
  routes: readonly { path: string; method: 'GET' | 'POST' }[]
): void {
  oauth.addHook('onRequest', (_request, reply, done) => {
    reply
      .header('access-control-allow-origin', '*')
      .header('access-control-expose-headers', 'www-authenticate, retry-after, x-request-id')
    done()
  })
  for (const { path, method } of routes) {
    oauth.options(path, async (_request, reply) =>
      reply
        .code(204)
        .header('access-control-allow-methods', method)
        .header('access-control-allow-headers', 'authorization, content-type')
        .header('access-control-max-age', '600')
        .send()
    )
  }
}
