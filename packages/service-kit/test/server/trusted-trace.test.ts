import { afterEach, expect, test } from '@jest/globals'
import { buildLogger } from '../../src/process/logger.js'
import { type BuildServerOptions, buildServer } from '../../src/server/build-server.js'
import type { ReadTrace } from '../../src/server/trusted-trace.js'

const TRACE = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), flags: 1, state: undefined }
/** Any value but `bad` is a context. */
const readTrace: ReadTrace = ({ traceparent }) => (traceparent === 'bad' ? undefined : TRACE)
const IDS = { trace_id: TRACE.traceId, span_id: TRACE.spanId }

let server: ReturnType<typeof buildServer>
afterEach(() => server.close())

/** @returns what a handler sees, and the log lines of the request */
async function sendTo(options: Partial<BuildServerOptions>, headers: Record<string, string>, url = '/') {
  const lines: Record<string, unknown>[] = []
  const logger = buildLogger('test', 'debug', { write: (line) => lines.push(JSON.parse(line)) })
  server = buildServer({ logger, ...options })
  server.get('/', async (request, reply) => {
    request.log.info({ event: 'by_request' }, 'by request')
    reply.log.info({ event: 'by_reply' }, 'by reply')
    return { trace: request.trustedTrace ?? 'none' }
  })
  const response = await server.inject({ url, remoteAddress: '10.0.0.1', headers })
  return { seen: response.json().trace, lines, headers: response.headers }
}

test.each([
  { name: 'a trusted proxy', options: { readTrace, trustedProxies: ['10.0.0.0/8'] } },
  { name: 'any peer of a listener that is not public', options: { readTrace, keepsRequestId: true } }
])('the trace context of $name is that of the request, and all log lines have its ids', async ({ options }) => {
  const { seen, lines } = await sendTo(options, { traceparent: 'x' })
  expect(seen).toMatchObject({ traceId: TRACE.traceId, spanId: TRACE.spanId, flags: 1 })
  const events = ['by_request', 'by_reply', 'request']
  expect(lines).toMatchObject(events.map((event) => ({ event, reqId: expect.any(String), ...IDS })))
})

test.each([
  { name: 'no peer is trusted by default', options: { readTrace }, traceparent: 'x' },
  { name: 'an untrusted peer', options: { readTrace, trustedProxies: ['192.0.2.0/24'] }, traceparent: 'x' },
  { name: 'an invalid header', options: { readTrace, keepsRequestId: true }, traceparent: 'bad' },
  { name: 'a server that reads none', options: { keepsRequestId: true }, traceparent: 'x' }
])('$name: neither the request nor its log lines have a context', async ({ options, traceparent }) => {
  const { seen, lines } = await sendTo(options, { traceparent })
  expect(seen).toBe('none')
  expect(lines).toHaveLength(3)
  for (const line of lines) expect(line).not.toHaveProperty('trace_id')
})

test('the forwarded client is no proxy: X-Forwarded-For of an untrusted peer changes nothing', async () => {
  const headers = { traceparent: 'x', 'x-forwarded-for': '192.0.2.1' }
  expect((await sendTo({ readTrace, trustedProxies: ['192.0.2.0/24'] }, headers)).seen).toBe('none')
})

test('without traceparent, the reader is not called and the line has the members of before', async () => {
  const read = () => {
    throw new Error('called')
  }
  const { seen, lines } = await sendTo({ keepsRequestId: true, readTrace: read }, { tracestate: 'a=1' })
  expect(seen).toBe('none')
  const members = ['level', 'time', 'service', 'reqId', 'event', 'method', 'route', 'status', 'milliseconds', 'msg']
  expect(Object.keys(lines.at(-1) ?? {})).toEqual(members)
})

test('a request without a route has the ids as well; the response never has them', async () => {
  const { lines, headers } = await sendTo({ readTrace, keepsRequestId: true }, { traceparent: 'x' }, '/nothing')
  expect(lines.at(-1)).toMatchObject({ event: 'request', status: 404, ...IDS })
  expect(JSON.stringify(headers)).not.toContain(TRACE.traceId)
})
