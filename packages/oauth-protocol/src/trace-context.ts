import { randomBytes } from 'node:crypto'

/** The trace that a request belongs to, as its caller described it (W3C Trace Context §3). */
export type TraceContext = {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string
  /** The caller's span: 16 hexadecimal digits in lower case. */
  readonly spanId: string
  /** `sampled` (1) and `random` (2); other bits are cleared. */
  readonly flags: number
  /** `tracestate`, unchanged. */
  readonly state: string | undefined
}

/** Headers with names in lower case, as `node:http` has them: repeated ones joined with a comma, values trimmed. */
export type TraceHeaders = { readonly [name: string]: string | readonly string[] | undefined }

/** A later version may have more fields. A comma means that there were two headers. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[^,\s]*)?$/
const ZERO = /^0+$/
const KNOWN_FLAGS = 0x03

const TRACESTATE = /^[\t\x20-\x7e]{1,512}$/
const MAX_MEMBERS = 32

/**
 * Reads `traceparent` and `tracestate` (W3C Trace Context §3.2, §3.3, §4.3). A `tracestate` that is too long is left out.
 * @returns undefined without a single valid `traceparent`
 */
export function readTraceContext({ traceparent, tracestate }: TraceHeaders): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (ZERO.test(traceId) || ZERO.test(spanId)) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & KNOWN_FLAGS, state: readState(tracestate) }
}

function readState(tracestate: TraceHeaders[string]): string | undefined {
  if (typeof tracestate !== 'string' || !TRACESTATE.test(tracestate)) return undefined
  return tracestate.split(',').length > MAX_MEMBERS ? undefined : tracestate
}

/** The members of a log line, with the names that OpenTelemetry gives them. */
export function logMembers({ traceId, spanId }: TraceContext): { trace_id: string; span_id: string } {
  return { trace_id: traceId, span_id: spanId }
}

/** The headers of a call that a request causes: the same trace and a new span, in version 00. */
export function traceHeaders({ traceId, flags, state }: TraceContext): { traceparent: string; tracestate?: string } {
  const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-0${flags}`
  return state === undefined ? { traceparent } : { traceparent, tracestate: state }
}
