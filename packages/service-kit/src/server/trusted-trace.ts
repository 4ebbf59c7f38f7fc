import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ipAddress, networkMatcher } from './client-address.js'

/** A W3C trace context: hexadecimal ids of the trace and of the caller's span. */
type Trace = {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
  readonly state: string | undefined
}

/** Reads the trace context of a request; undefined if it has none that is valid. */
export type ReadTrace = (headers: IncomingHttpHeaders) => Trace | undefined

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace context, if the peer is trusted to send one. */
    trustedTrace: Trace | undefined
  }
}

export type TraceOptions = {
  /** Without it, trace contexts are ignored. */
  readTrace?: ReadTrace
  trustedProxies?: readonly string[] | undefined
  /** On a listener that is not public, each peer is trusted. */
  keepsRequestId?: boolean
}

/**
 * Makes the function that sets `trustedTrace` of a request, and adds `trace_id` and `span_id` to its log lines. Only for
 * requests with `traceparent`, so that others cost one comparison. A stranger could otherwise choose which requests are
 * sampled, and mix them into the trace of another.
 */
export function traceAdopter(server: FastifyInstance, options: TraceOptions) {
  const { readTrace, trustedProxies = [], keepsRequestId = false } = options
  const isProxy = networkMatcher(trustedProxies)
  const isTrusted = ({ socket }: IncomingMessage) =>
    keepsRequestId || isProxy(ipAddress(socket.remoteAddress ?? '') ?? '')
  server.decorateRequest('trustedTrace', undefined)

  return function adoptTrace(request: FastifyRequest, reply: FastifyReply): void {
    if (readTrace === undefined || !isTrusted(request.raw)) return
    const trace = readTrace(request.raw.headers)
    if (trace === undefined) return
    request.trustedTrace = trace
    request.log = request.log.child({ trace_id: trace.traceId, span_id: trace.spanId })
    reply.log = request.log
  }
}
