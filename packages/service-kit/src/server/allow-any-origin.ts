import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Lists of header names, separated by commas. */
type BrowserHeaders = {
  /** Response headers that scripts may read. */
  exposed: string
  /** Request headers that are allowed by name, also if a preflight request asks for none. */
  allowed: string
}

/**
 * CORS for endpoints that browser-based apps call (OAuth 2.1 §3.2). They use no cookies, so any origin may call them, with
 * any request header. The headers are in each response of these paths, also in those of no route (404, 405): without them, a
 * script sees a network error. Never use this for pages, in particular not for the authorization endpoint.
 * @param server the whole listener, because a response of no route has only its hooks
 */
export function allowAnyOrigin(
  server: FastifyInstance,
  { exposed, allowed }: BrowserHeaders,
  isOpen: (path: string) => boolean
): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (!isOpen(pathOf(request))) return done()
    reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', exposed)
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    if (request.is404 && isPreflight) sendPreflight(request, reply, { allowed, methods: '' })
    else done()
  })
}

/** Responds to preflight requests of routes. @property methods separated by commas */
export function preflightRoutes(
  scope: FastifyInstance,
  { allowed }: BrowserHeaders,
  routes: readonly { path: string; methods: string }[]
): void {
  for (const { path, methods } of routes) {
    scope.options(path, (request, reply) => sendPreflight(request, reply, { allowed, methods }))
  }
}

/** What is requested is added to what the path has: other headers are ignored, and other methods get a readable 405. */
function sendPreflight(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { allowed, methods }: { allowed: string; methods: string }
): void {
  const requestedNames = headers['access-control-request-headers']?.toLowerCase()
  reply
    .code(204)
    .header('access-control-allow-methods', join(methods, headers['access-control-request-method']))
    .header('access-control-allow-headers', join(allowed, requestedNames))
    .header('access-control-max-age', '600')
    .send()
}

/** Names of headers or methods, separated by commas (RFC 9110 §5.6.1, §5.6.2). */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/

function join(names: string, requested = ''): string {
  const all = [names, NAMES.test(requested) ? requested : ''].flatMap((list) =>
    list.split(',').map((each) => each.trim())
  )
  return [...new Set(all)].filter((name) => name !== '').join(', ')
}

function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}
