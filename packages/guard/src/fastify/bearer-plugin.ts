import { logMembers } from '@valetkey/oauth-protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { ANY_ORIGIN, isPreflight, METADATA_HEADERS, preflightHeaders } from '../guard/any-origin.js'
import { createGuard, type Guard } from '../guard/guard.js'
import type { GuardOptions } from '../guard/guard-options.js'
import type { Outcome } from '../guard/outcome.js'
import { overrideHeaders } from '../guard/override-headers.js'
import type { RequestContext } from '../guard/token-guard.js'
import {
  type AccessToken,
  requirementOf,
  type ScopeRequirement,
  type Scopes
} from '../guard/validate-token-and-scope.js'
import { REQUIREMENT, sendOutcome, TOKEN } from './guarded-request.js'
import { refuseTokenInForm } from './token-in-form.js'

/** Options of a guard of its own, which the server closes; or a guard that other adapters use as well. */
export type BearerOptions = GuardOptions | { guard: Guard }

/**
 * Makes the onRequest hook of a route. `requireAccessToken('files.read', 'files.share')` requires both scopes,
 * `requireAccessToken({ anyOf: ['files.read', 'files.read:images'] })` one of them, and `requireAccessToken()` a valid
 * token of any scope.
 */
export type RequireAccessToken = (...scopes: Scopes) => onRequestHookHandler

declare module 'fastify' {
  interface FastifyInstance {
    requireAccessToken: RequireAccessToken
  }
  interface FastifyRequest {
    /** The token of an accepted request. Throws on a route without a guard. */
    readonly accessToken: AccessToken
  }
}

async function bearer(server: FastifyInstance, options: BearerOptions): Promise<void> {
  const guard = 'guard' in options ? options.guard : createGuard({ log: server.log, ...options })
  if (!('guard' in options)) server.addHook('onClose', () => guard.close())

  server.decorateRequest(TOKEN, null)
  server.decorateRequest(REQUIREMENT, null)
  server.decorateRequest('accessToken', { getter: acceptedToken })
  const hooks = new WeakSet<object>()
  server.decorate('requireAccessToken', (...scopes: Scopes) => {
    const hook = guardHook(guard, requirementOf(scopes))
    hooks.add(hook)
    return hook
  })
  // A second token in the body makes the request ambiguous (RFC 6750 §2). The body is read only after the guard.
  server.addHook('preHandler', refuseTokenInForm(guard))
  serveMetadata(server, guard)
  server.addHook('onRequest', openMissingRoutes(guard))
  if (guard.anyOrigin) servePreflights(server, (hook) => hooks.has(hook))
}

/** Guards the routes of a Fastify server with OAuth 2.0 bearer tokens. */
export const bearerPlugin = fastifyPlugin(bearer, { name: '@valetkey/guard', fastify: '5.x' })

function acceptedToken(this: FastifyRequest): AccessToken {
  const accessToken = this[TOKEN]
  if (accessToken === null) throw new Error('request.accessToken: this route has no guard (requireAccessToken)')
  return accessToken
}

/** Uses a callback instead of a promise, so that a cached token costs no turn of the event loop. */
function guardHook(guard: Guard, requirement: ScopeRequirement): onRequestHookHandler {
  return function requireAccessToken(request, reply, done) {
    if (guard.anyOrigin) {
      const requestedMethod = request.headers['access-control-request-method']
      if (isPreflight(request.method, requestedMethod)) {
        sendPreflight(request, reply)
        return
      }
      reply.headers(ANY_ORIGIN)
    }
    const outcome = guard.check(request.raw, requirement, contextOf(request, guard))
    if ('kind' in outcome) decide(outcome)
    else void outcome.then(decide)

    function decide(outcome: Outcome): void {
      if (outcome.kind !== 'accepted') {
        sendOutcome(reply, outcome)
        return
      }
      request[TOKEN] = outcome.accessToken
      request[REQUIREMENT] = requirement
      if (outcome.headers !== undefined) overrideHeaders(reply.raw, outcome.headers)
      done()
    }
  }
}

/** A request without a trusted trace context is its own context, so that it costs no object. */
function contextOf(request: FastifyRequest, guard: Guard): RequestContext {
  const { headers, socket } = request.raw
  if (headers.traceparent === undefined) return request
  const trustedTrace = guard.trustedTrace(headers, socket.remoteAddress)
  if (trustedTrace === undefined) return request
  const { id, query, log } = request
  return { id, query, trustedTrace, log: log.child(logMembers(trustedTrace)) }
}

/** Without these headers, a script sees a network error instead of the server's 404 or 405. */
function openMissingRoutes({ anyOrigin, metadata }: Guard): onRequestHookHandler {
  return function allowAnyOrigin(request, reply, done) {
    if (request.is404 && (anyOrigin || request.url.split('?', 1)[0] === metadata.path)) reply.headers(ANY_ORIGIN)
    done()
  }
}

/** Public, and readable from any origin (RFC 9728 §3.1). */
function serveMetadata(server: FastifyInstance, { metadata }: Guard): void {
  server.get(metadata.path, async (_request, reply) => reply.headers(METADATA_HEADERS).send(metadata.document))
  server.options(metadata.path, (request, reply) => sendPreflight(request, reply))
}

/**
 * Adds an OPTIONS route for each guarded path that has none. It is added after the routes of the current plugin, so that
 * Fastify accepts an OPTIONS route that the API declares itself, even one that follows the guarded route.
 */
function servePreflights(server: FastifyInstance, isGuard: (hook: object) => boolean): void {
  server.addHook('onRoute', function addOptions(route) {
    const hooks = [route.onRequest ?? []].flat()
    if (!hooks.some(isGuard)) return
    const { routePath } = route
    this.after(() => {
      // For `/` below a prefix, Fastify has meanwhile added the variant with a trailing slash by changing `route`.
      for (const path of new Set([routePath, route.routePath])) {
        if (this.hasRoute({ method: 'OPTIONS', url: this.prefix + path })) continue
        // Without `slash`, Fastify would add both variants.
        this.options(path, { prefixTrailingSlash: 'slash' }, sendPreflight)
      }
    })
  })
}

function sendPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  reply.code(204).headers(preflightHeaders(headers['access-control-request-headers'])).send()
}
