import type { FastifyInstance } from 'fastify'

/**
 * CORS for endpoints that browser-based apps call (OAuth 2.1 §3.2). They use no cookies, so any origin may call them. A
 * preflight request does not name a client, so the headers do not depend on it. Never use this for pages, in particular not
 * for the authorization endpoint.
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
