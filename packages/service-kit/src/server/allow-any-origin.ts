import type { FastifyInstance } from 'fastify'

/** Lists of header names, separated by commas. */
type BrowserHeaders = {
  /** Response headers that scripts may read. */
  exposed: string
  /** Request headers that scripts may send. */
  allowed: string
}

/**
 * CORS for endpoints that browser-based apps call (OAuth 2.1 §3.2). They use no cookies, so any origin may call them. A
 * preflight request has no credentials, so the headers do not depend on any. Never use this for pages, in particular not
 * for the authorization endpoint.
 */
export function allowAnyOrigin(
  scope: FastifyInstance,
  { exposed, allowed }: BrowserHeaders,
  routes: readonly { path: string; methods: string }[]
): void {
  scope.addHook('onRequest', (_request, reply, done) => {
    reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', exposed)
    done()
  })
  for (const { path, methods } of routes) {
    scope.options(path, async (_request, reply) =>
      reply
        .code(204)
        .header('access-control-allow-methods', methods)
        .header('access-control-allow-headers', allowed)
        .header('access-control-max-age', '600')
        .send()
    )
  }
}
