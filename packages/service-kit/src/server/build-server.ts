import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify'
import type { HttpMeter } from '../metrics/http-metrics.js'
import { requireRouteGroups } from '../metrics/route-groups.js'
import type { Logger } from '../process/logger.js'
import { type ClientAddress, clientAddressReader } from './client-address.js'
import { type UnreadableBody, unreadableProblem } from './problem.js'
import { problemOfHead } from './request-head.js'
import { otherRequestIds, REQUEST_ID } from './request-ids.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Called all the time and by design: its good answers are logged at level debug. */
    isRoutine?: boolean
    /** Its good answers stay open for as long as both sides like: no duration is measured. */
    isStream?: boolean
  }
}

export type BuildServerOptions = {
  logger: Logger
  /** Addresses or networks whose X-Forwarded-For and Forwarded headers are believed; none by default. */
  trustedProxies?: readonly string[] | undefined
  /** Bytes; the largest request body this listener takes. */
  bodyLimit?: number
  /** Take over the caller's X-Request-Id: only for listeners that no stranger reaches. */
  keepsRequestId?: boolean
  /** Once aborted, every answer ends its connection, so that the next one is opened to a process that stays. */
  draining?: AbortSignal | undefined
  /** The body of an answer to what reaches no route, by its status; problem details by default. */
  unreadable?: (status: number) => UnreadableBody
  /** Hears of each request when it has been answered. With it, each route needs a group (`groupRoutes`). */
  meter?: HttpMeter
}

/** How long requests in flight may take once the server closes. */
const DRAIN_LIMIT_MS = 6_000

const PROBES = ['/livez', '/readyz']

/** A Fastify server with the limits, time-outs and request ids that every listener of every service has. */
export function buildServer(options: BuildServerOptions): FastifyInstance {
  const unreadable = options.unreadable ?? unreadableProblem
  const { meter } = options
  const server = fastify({
    loggerInstance: options.logger,
    // Fastify's own request lines quote the URL with its query, where codes and states travel.
    logController: new LogController({ disableRequestLogging: true }),
    // Fastify would take texts that are not addresses from the headers, and host and protocol, too: see below.
    trustProxy: false,
    bodyLimit: options.bodyLimit ?? 16 * 1024,
    // A slow sender is cut off: headers within 20 s, the whole request within 30 s.
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 65_000,
    maxRequestsPerSocket: 0,
    http: {
      headersTimeout: 20_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16 * 1024,
      // Refused below instead, for Node's own answer has none of our headers.
      requireHostHeader: false
    },
    routerOptions: { maxParamLength: 200 },
    // What still comes on a connection that was kept alive is served, and told to come elsewhere.
    return503OnClosing: false,
    genReqId: (request) => {
      const given = options.keepsRequestId ? request.headers['x-request-id'] : undefined
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
    },
    // An address that is not even one (`/%zz`) reaches no route and no hook.
    frameworkErrors: (error, request, reply) => {
      meter?.unreadable()
      refuseUnreadable(
        request as unknown as FastifyRequest,
        reply as unknown as FastifyReply,
        error.code,
        unreadable(400)
      )
    },
    clientErrorHandler: answerUnreadable(unreadable, meter)
  }) as unknown as FastifyInstance

  defineAddress(server, clientAddressReader(options.trustedProxies ?? []))
  // These two run at every request, with callbacks: a promise for each would cost more than they do.
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    if (options.draining?.aborted) reply.header('connection', 'close')
    const problem = problemOfHead(request.raw)
    if (problem === undefined) done()
    else refuseUnreadable(request, reply.header('connection', 'close'), problem, unreadable(400))
  })
  server.server.on('checkExpectation', (_request, response) => {
    meter?.unreadable()
    refuseExpectation(server, response, unreadable(417))
  })
  server.addHook('onResponse', (request, reply, done) => {
    // Each look at it makes it anew.
    const { url: route = 'unknown', config } = request.routeOptions
    const { elapsedTime, statusCode: status } = reply
    const { method } = request
    if (config.isStream !== true || status >= 400) {
      meter?.answered({ route, group: config.routeGroup ?? 'unknown' }, method, status, elapsedTime)
    }
    const milliseconds = Math.round(elapsedTime * 10) / 10
    // Probes come every few seconds; what they see is in their answer.
    const isRoutine = config.isRoutine === true && status < 400
    const level = isRoutine || PROBES.includes(route) ? 'debug' : 'info'
    const otherReqIds = options.keepsRequestId ? otherRequestIds(request.headers) : undefined
    request.log[level]({ event: 'request', method, route, status, milliseconds, otherReqIds }, 'request')
    done()
  })
  if (meter !== undefined) requireRouteGroups(server)
  drainQuickly(server)
  return server
}

/** Where `defineAddress` keeps the address of a request that was asked for it. */
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
  // Node keeps the address of a peer from the first look at it, and cannot find it after the connection has ended.
  server.server.on('connection', (socket: Socket) => socket.remoteAddress)
}

/**
 * Node lets a connection live on that was busy when the listener closed, for as long as it is kept alive, and waits for
 * a sender that is slow on purpose.
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
  said: UnreadableBody
): FastifyReply {
  request.log.info({ event: 'unreadable_request', code }, 'unreadable request')
  return reply.code(400).headers(plainHeaders(request.id, said)).send(said.body)
}

/** What an answer from outside the routes says of itself. */
function plainHeaders(requestId: string, { contentType, body }: UnreadableBody) {
  return {
    'Content-Type': contentType,
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId
  }
}

/** `Expect` with anything but `100-continue` (RFC 9110 §10.1.1). Node asks before any route or hook is reached. */
function refuseExpectation(server: FastifyInstance, response: ServerResponse, said: UnreadableBody): void {
  const requestId = randomUUID()
  server.log.info({ event: 'unreadable_request', reqId: requestId, code: 'EXPECTATION' }, 'unreadable request')
  // The body that it announced may follow or not, so nothing more is read from this connection.
  response.writeHead(417, { ...plainHeaders(requestId, said), Connection: 'close' }).end(said.body)
}

/** What is not HTTP never reaches a route; the answer says no more than that, and the connection ends. */
function answerUnreadable(unreadable: (status: number) => UnreadableBody, meter: HttpMeter | undefined) {
  return function answer(this: FastifyInstance, error: Error & { code?: string }, socket: Socket): void {
    // What follows a request that was the last one by its own word is not read, and the answer to that request stands.
    if (error.code === 'ECONNRESET' || error.code === 'HPE_CLOSED_CONNECTION' || socket.destroyed) return
    meter?.unreadable()
    const status = UNREADABLE_STATUS[error.code ?? ''] ?? 400
    const said = unreadable(status)
    const requestId = randomUUID()
    this.log.info({ event: 'unreadable_request', reqId: requestId, code: error.code }, 'unreadable request')
    const headers = Object.entries({ ...plainHeaders(requestId, said), Connection: 'close' })
    const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
    if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${said.body}`)
    else socket.destroy()
  }
}

const UNREADABLE_STATUS: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }
