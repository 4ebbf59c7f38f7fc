import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify'
import type { HttpMeter } from '../metrics/http-metrics.js'
import { requireRouteGroups } from '../metrics/route-groups.js'
import type { Logger } from '../process/logger.js'
import { type ClientAddress, clientAddressReader } from './client-address.js'
import { leaveGoneCallers } from './leave-gone-callers.js'
import { namePlugins } from './plugin-names.js'
import { type UnreadableBody, type UnreadableRequest, unreadableProblem } from './problem.js'
import { refuseContentCoding } from './refuse-content-coding.js'
import { problemOfHead } from './request-head.js'
import { otherRequestIds, REQUEST_ID } from './request-ids.js'
import { type ReadTrace, traceAdopter } from './trusted-trace.js'
import { readWanted, readWantedBytes } from './unreadable-request.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Called very often: its successful responses are logged at level debug. */
    isRoutine?: boolean
    /** A long-lived response: no duration is measured if it succeeds. */
    isStream?: boolean
  }

  interface FastifyReply {
    /** The status that metrics count instead of the sent one. */
    countedStatus: number | undefined
  }
}

export type BuildServerOptions = {
  logger: Logger
  /** Addresses or networks whose X-Forwarded-For, Forwarded and trace headers are trusted; none by default. */
  trustedProxies?: readonly string[] | undefined
  /** Maximum size of a request body in bytes. */
  bodyLimit?: number
  /** Uses the caller's X-Request-Id and trace context. Only for listeners that are not public. */
  keepsRequestId?: boolean
  /** Reads `traceparent` and `tracestate`; without it, they are ignored. */
  readTrace?: ReadTrace
  /** Once aborted, every response closes its connection, so that clients connect to another process. */
  draining?: AbortSignal | undefined
  /** The body of the response to a request that reaches no route; problem details by default. */
  unreadable?: Unreadable
  /** The routes read the query themselves, so `request.query` is its text. */
  leavesQuery?: boolean
  /** Counts each request after its response. With it, each route needs a group (`groupRoutes`). */
  meter?: HttpMeter
}

type Unreadable = (request: UnreadableRequest) => UnreadableBody

/** Time limit of requests in progress when the server closes. */
const DRAIN_LIMIT_MS = 6_000

const PROBES = ['/livez', '/readyz']

/** A Fastify server with the limits, time-outs and request ids of every listener. */
export function buildServer(options: BuildServerOptions): FastifyInstance {
  const unreadable = options.unreadable ?? unreadableProblem
  const { meter } = options
  const server = fastify({
    ...LIMITS,
    loggerInstance: options.logger,
    // Fastify's own request lines contain the URL with its query, which may have codes and state values.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyLimit ?? 16 * 1024,
    routerOptions: { ...ROUTER, ...(options.leavesQuery && { querystringParser: asText }) },
    genReqId: (request) => {
      const given = options.keepsRequestId ? request.headers['x-request-id'] : undefined
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
    },
    // A path with malformed encoding (`/%zz`) reaches no route and no hook.
    frameworkErrors: (error, request, reply) => {
      meter?.unreadable()
      refuseUnreadable(request as unknown as FastifyRequest, reply as unknown as FastifyReply, error.code, unreadable)
    },
    clientErrorHandler: refuseUnreadableBody(unreadable, meter)
  }) as unknown as FastifyInstance

  namePlugins(server)
  defineAddress(server, clientAddressReader(options.trustedProxies ?? []))
  const adoptTrace = traceAdopter(server, options)
  // This hook and that of `logResponses` use callbacks, because promises would cost more than the hooks themselves.
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    if (request.raw.headers.traceparent !== undefined) adoptTrace(request, reply)
    if (options.draining?.aborted) reply.header('connection', 'close')
    const problem = problemOfHead(request.raw)
    if (problem === undefined) done()
    else refuseUnreadable(request, reply.header('connection', 'close'), problem, unreadable)
  })
  server.addHook('preParsing', refuseContentCoding)
  server.server.on('checkExpectation', (request, response) => {
    meter?.unreadable()
    refuseExpectation(server, request, response, unreadable)
  })
  leaveGoneCallers(server)
  logResponses(server, options)
  if (meter !== undefined) requireRouteGroups(server)
  drainQuickly(server)
  return server
}

const LIMITS = {
  // Fastify would also use its headers for host and protocol, and accept values that are not addresses: see defineAddress.
  trustProxy: false,
  // Slow senders have a limit: headers within 20 s, the whole request within 30 s.
  requestTimeout: 30_000,
  connectionTimeout: 60_000,
  keepAliveTimeout: 65_000,
  maxRequestsPerSocket: 0,
  http: {
    headersTimeout: 20_000,
    connectionsCheckingInterval: 5_000,
    maxHeaderSize: 16 * 1024,
    // problemOfHead refuses a missing Host instead, because Node's response would lack our headers.
    requireHostHeader: false
  },
  // While the server closes, requests on open connections still get their response, with `Connection: close`.
  return503OnClosing: false
}

// The longest parameter is a client id that is a URL.
const ROUTER = { maxParamLength: 500 }

/** Fastify's type allows only objects, but its router passes on any value. */
const asText = (query: string) => query as never

function logResponses(server: FastifyInstance, { meter, keepsRequestId }: BuildServerOptions): void {
  server.decorateReply('countedStatus', undefined)
  server.addHook('onResponse', (request, reply, done) => {
    // Read once, because each access to routeOptions creates a new object.
    const { url: route = 'unknown', config } = request.routeOptions
    const { elapsedTime, statusCode: status } = reply
    const { method } = request
    if (config.isStream !== true || status >= 400) {
      const counted = { route, group: config.routeGroup ?? 'unknown' } as const
      meter?.responded(counted, method, reply.countedStatus ?? status, elapsedTime)
    }
    const milliseconds = Math.round(elapsedTime * 10) / 10
    // Probes come every few seconds, and their responses have the result.
    const isRoutine = config.isRoutine === true && status < 400
    const level = isRoutine || PROBES.includes(route) ? 'debug' : 'info'
    const otherReqIds = keepsRequestId ? otherRequestIds(request.headers) : undefined
    request.log[level]({ event: 'request', method, route, status, milliseconds, otherReqIds }, 'request')
    done()
  })
}

/** Caches the client address of a request. */
const ADDRESS = Symbol('valetkey.address')

declare module 'fastify' {
  interface FastifyRequest {
    [ADDRESS]: string | undefined
  }
}

/** `request.ip` is the client's address everywhere: limits, audit records, logs. */
function defineAddress(server: FastifyInstance, addressOf: ClientAddress): void {
  server.decorateRequest(ADDRESS, undefined)
  server.decorateRequest('ip', {
    getter() {
      this[ADDRESS] ??= addressOf(this.raw.socket.remoteAddress, this.raw.headers)
      return this[ADDRESS]
    }
  })
  // Node determines the peer's address at the first access, and cannot do so after the connection has ended. Without an address,
  // the peer has reset the connection before it was accepted: its request would run for no caller.
  server.server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) socket.destroy()
  })
}

/**
 * When a listener closes, Node keeps connections that are in use, for as long as they are kept alive, and waits for slow
 * senders without a limit.
 */
function drainQuickly(server: FastifyInstance): void {
  let sweep: NodeJS.Timeout | undefined
  let cutOff: NodeJS.Timeout | undefined
  server.addHook('preClose', async () => {
    sweep = setInterval(() => server.server.closeIdleConnections(), 100)
    cutOff = setTimeout(() => server.server.closeAllConnections(), DRAIN_LIMIT_MS)
  })
  server.addHook('onClose', async () => {
    clearInterval(sweep)
    clearTimeout(cutOff)
  })
}

function refuseUnreadable(
  request: FastifyRequest,
  reply: FastifyReply,
  code: string,
  unreadable: Unreadable
): FastifyReply {
  request.log.info({ event: 'unreadable_request', code }, 'unreadable request')
  const content = unreadable({ id: request.id, status: 400, ...readWanted(request.raw) })
  return reply.code(400).headers(plainHeaders(request.id, content)).send(content.body)
}

/** Headers of a response that no route makes. */
function plainHeaders(requestId: string, { contentType, body, headers }: UnreadableBody) {
  return {
    ...headers,
    'Content-Type': contentType,
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId
  }
}

/** Refuses an `Expect` other than `100-continue` (RFC 9110 §10.1.1). Node emits the event before any route or hook. */
function refuseExpectation(
  server: FastifyInstance,
  request: IncomingMessage,
  response: ServerResponse,
  unreadable: Unreadable
): void {
  const requestId = randomUUID()
  const content = unreadable({ id: requestId, status: 417, ...readWanted(request) })
  server.log.info({ event: 'unreadable_request', reqId: requestId, code: 'EXPECTATION' }, 'unreadable request')
  // It is unknown whether the announced body follows, so the connection is closed.
  response.writeHead(417, { ...plainHeaders(requestId, content), Connection: 'close' }).end(content.body)
}

/** Refuses malformed HTTP, which reaches no route, and closes the connection. */
function refuseUnreadableBody(unreadable: Unreadable, meter: HttpMeter | undefined) {
  type ParseError = Error & { code?: string; rawPacket?: unknown }
  return function respond(this: FastifyInstance, error: ParseError, socket: Socket): void {
    // Data after a request with `Connection: close` is ignored, so that the response to that request is not disturbed.
    if (error.code === 'ECONNRESET' || error.code === 'HPE_CLOSED_CONNECTION' || socket.destroyed) return
    meter?.unreadable()
    const status = UNREADABLE_STATUS[error.code ?? ''] ?? 400
    const requestId = randomUUID()
    const content = unreadable({ id: requestId, status, ...readWantedBytes(error.rawPacket) })
    this.log.info({ event: 'unreadable_request', reqId: requestId, code: error.code }, 'unreadable request')
    const headers = Object.entries({ ...plainHeaders(requestId, content), Connection: 'close' })
    const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
    if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${content.body}`)
    else socket.destroy()
  }
}

const UNREADABLE_STATUS: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }
