import type { FastifyInstance } from 'fastify'
import { showProblem } from '../pages/show-problem.js'

/**
 * Cookies belong to a host name. A user who opens this app as `localhost` would return from the authorization server to
 * `127.0.0.1` (the redirect URI) without the cookie, so pages first redirect to the address from the settings.
 */
export function keepToOwnAddress(app: FastifyInstance, baseUrl: URL): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' || request.host === baseUrl.host) return
    const [path = '/'] = request.url.split('?')
    return reply.redirect(new URL(path.replace(/^\/+/, '/'), baseUrl).href, 302)
  })
}

/** A form of another site must not press our buttons. Old browsers send neither header; SameSite covers those. */
export function refuseForeignForms(app: FastifyInstance, baseUrl: URL): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST') return
    const { origin, 'sec-fetch-site': site } = request.headers
    const isForeign =
      (site !== undefined && site !== 'same-origin') || (origin !== undefined && origin !== baseUrl.origin)
    if (isForeign) return showProblem(reply, 'form_refused')
  })
}
