import type { FastifyInstance } from 'fastify'
import type { Config } from './config.js'
import { Problem } from './problems.js'

/** What every request and response needs before a route runs. */
export function protect(app: FastifyInstance, { issuer, baseUrl }: Config): void {
  const headers = {
    // No script and nothing from other sites. Chromium applies form-action to the redirect after a POST, too.
    'content-security-policy': `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' ${issuer.origin}; base-uri 'none'; frame-ancestors 'none'`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin'
  }

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    const { origin, 'sec-fetch-site': site = 'same-origin' } = request.headers
    // A form of another site must not press our buttons. Old browsers send neither header; SameSite covers those.
    const isForeign = site !== 'same-origin' || (origin !== undefined && origin !== baseUrl.origin)
    if (request.method === 'POST' && isForeign) throw new Problem('form_refused')
  })

  app.addHook('onRequest', async (request, reply) => {
    // Cookies belong to a host name: as `localhost`, the user would return to `127.0.0.1` without the cookie.
    if (request.method !== 'GET' || request.host === baseUrl.host) return
    const path = request.url.replace(/\?.*/, '').replace(/^\/+/, '/')
    return reply.redirect(new URL(path, baseUrl).href, 302)
  })

  // Our forms are buttons without fields: their bodies are accepted and ignored.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, async () => undefined)
}
