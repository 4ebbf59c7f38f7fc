import type { FastifyInstance } from 'fastify'

/** For every response: no script, no foreign resources, no caching. */
export function addSecurityHeaders(app: FastifyInstance, issuer: URL): void {
  const contentSecurityPolicy = [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    // Chromium applies form-action to the redirect after a POST too, and /connect redirects to the issuer.
    `form-action 'self' ${issuer.origin}`,
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ].join('; ')

  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'content-security-policy': contentSecurityPolicy,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin'
    })
  })
}
