import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  ANY_ORIGIN,
  isPreflight,
  METADATA_HEADERS,
  METADATA_WRONG_METHOD,
  preflightHeaders
} from './guard/any-origin.js'
import type { Guard } from './guard/guard.js'
import { fieldsOf, type Outcome } from './guard/outcome.js'
import { overrideHeaders } from './guard/override-headers.js'
import type { RequestContext } from './guard/token-guard.js'
import { isForm } from './guard/token-in-parameters.js'
import { type AccessToken, requirementOf, type Scopes } from './guard/validate-token-and-scope.js'

/** Express 4 and 5, Connect and Polka accept it; with `node:http`, call it. */
export type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

/** What frameworks add. `originalUrl` also has the part of the path where a router is mounted. */
type FrameworkRequest = IncomingMessage & { originalUrl?: unknown; id?: unknown; query?: unknown; body?: unknown }

// The tokens are stored by request, so that no name of a property collides with that of another library.
const accepted = new WeakMap<IncomingMessage, AccessToken>()

/**
 * Calls `next` only for a request with a valid token: `requireAccessToken(guard, 'reports.read')`. To refuse a second token
 * in a form as well (RFC 6750 §2), put the parser of the form before it.
 */
export function requireAccessToken(guard: Guard, ...scopes: Scopes): Middleware {
  const requirement = requirementOf(scopes)
  return function guardRequest(request: FrameworkRequest, response, next) {
    if (guard.anyOrigin) {
      const requestedMethod = request.headers['access-control-request-method']
      if (isPreflight(request.method, requestedMethod)) return writePreflight(request, response)
      for (const [name, value] of Object.entries(ANY_ORIGIN)) response.setHeader(name, value)
    }
    const { method, rawHeaders } = request
    const context = contextOf(request, guard)
    const outcome = guard.check({ method, url: urlOf(request), rawHeaders }, requirement, context)
    if ('kind' in outcome) decide(outcome)
    else void outcome.then(decide)

    function decide(outcome: Outcome): void {
      const refusal = outcome.kind === 'accepted' ? refuseForm() : outcome
      if (refusal !== undefined) {
        write(response, refusal.status, fieldsOf(refusal), JSON.stringify(refusal.problem))
      } else if (outcome.kind === 'accepted') {
        accepted.set(request, outcome.accessToken)
        if (outcome.headers !== undefined) overrideHeaders(response, outcome.headers)
        next()
      }
    }

    function refuseForm() {
      const { body, headers } = request
      return isForm(headers['content-type']) ? guard.checkForm(body, requirement, context) : undefined
    }
  }
}

/**
 * A listener for the event `upgrade` of a server of `node:http`. It calls `next` only for requests that may open a WebSocket.
 */
export type UpgradeGuard = (request: IncomingMessage, socket: Duplex, next: () => void) => void

/**
 * Guards the requests that ask for another protocol, such as WebSocket. `node:http` gives them to the listeners of `upgrade`
 * and not to the server's handler, so no middleware sees them. A refused request gets the same response as any other, and its
 * connection is closed.
 */
export function requireAccessTokenToUpgrade(guard: Guard, ...scopes: Scopes): UpgradeGuard {
  const guardRequest = requireAccessToken(guard, ...scopes)
  return (request, socket, next) => {
    // Without a listener, a client that resets the connection meanwhile would end the process.
    const ignore = () => {}
    socket.on('error', ignore)
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    try {
      response.assignSocket(socket as Socket)
    } catch {
      // The client did not wait for the response to an earlier request on this connection.
      socket.destroy()
      return
    }
    response.on('finish', () => socket.end())
    guardRequest(request, response, () => {
      response.detachSocket(socket as Socket)
      if (socket.destroyed) return
      socket.off('error', ignore)
      next()
    })
  }
}

/**
 * The token of a request that `requireAccessToken` accepted.
 * @throws for any other request, so a handler without a guard cannot serve it
 */
export function accessTokenOf(request: IncomingMessage): AccessToken {
  const accessToken = accepted.get(request)
  if (accessToken === undefined) throw new Error('accessTokenOf: no guard accepted this request (requireAccessToken)')
  return accessToken
}

/** Serves the metadata (RFC 9728) at its well-known path; calls `next` for other paths. */
export function serveMetadata({ metadata }: Guard): Middleware {
  const document = JSON.stringify(metadata.document)
  return (request: FrameworkRequest, response, next) => {
    const { method } = request
    if (urlOf(request)?.split('?', 1)[0] !== metadata.path) return next()
    if (method === 'GET' || method === 'HEAD') {
      return write(response, 200, { ...METADATA_HEADERS, 'content-type': 'application/json' }, document)
    }
    if (method === 'OPTIONS') return writePreflight(request, response)
    write(response, 405, METADATA_WRONG_METHOD)
  }
}

function urlOf({ originalUrl, url }: FrameworkRequest): string | undefined {
  return typeof originalUrl === 'string' ? originalUrl : url
}

function contextOf({ id, query, headers, socket }: FrameworkRequest, guard: Guard): RequestContext {
  const context: RequestContext = { id: typeof id === 'string' ? id : undefined, query }
  if (headers.traceparent !== undefined) context.trustedTrace = guard.trustedTrace(headers, socket.remoteAddress)
  return context
}

type Fields = Readonly<Record<string, string | string[]>>

function writePreflight({ headers }: IncomingMessage, response: ServerResponse): void {
  const requested = headers['access-control-request-headers']
  write(response, 204, preflightHeaders(Array.isArray(requested) ? undefined : requested))
}

function write(response: ServerResponse, status: number, headers: Fields, body = ''): void {
  // Another middleware, for example one with a time limit, has responded meanwhile.
  if (response.headersSent) return
  const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) }
  response.writeHead(status, { ...headers, ...length }).end(body)
}
