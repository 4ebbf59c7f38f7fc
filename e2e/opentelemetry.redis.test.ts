import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { get, linesOf, newTrace } from './support/traced-requests.js'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const PRELOAD = pathToFileURL(path.join(ROOT, 'examples/opentelemetry/register.mjs')).href
const GUARD = pathToFileURL(path.join(ROOT, 'packages/guard/dist/index.js')).href
const STRANGER = '127.0.0.2'
const [SERVER, CLIENT] = [2, 3]

type Attribute = { key: string; value: { stringValue?: string } }
type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  kind: number
  attributes: Attribute[]
  service?: string
}
type Export = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[] }

let collector: Awaited<ReturnType<typeof startCollector>>
let cluster: Cluster
let resource: Cluster['resourceServers'][number]
let tokens: string[]
beforeAll(async () => {
  collector = await startCollector()
  cluster = await startCluster({
    authorizationServers: 1,
    resourceServers: 1,
    logLevel: 'info',
    settings: preload('authorization')
  })
  resource = await cluster.addResourceServer(preload('resource'))
  while ((await fetch(`http://127.0.0.1:${resource.operatorPort}/readyz`).catch(() => undefined))?.status !== 200)
    await wait(20)
  const source = await createTokenSource(cluster)
  tokens = []
  for (let count = 0; count < 40; count++) tokens.push(await source.nextToken())
})
afterAll(async () => {
  await cluster?.stop()
  await collector.close()
})

const preload = (service: string) => ({
  NODE_OPTIONS: `--import=${PRELOAD}`,
  OTEL_SERVICE_NAME: service,
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_BSP_SCHEDULE_DELAY: '100'
})

/** Receives spans as a collector does (OTLP over HTTP, in JSON). */
async function startCollector() {
  const spans: Span[] = []
  const server = createServer(async (request, response) => {
    const { resourceSpans }: Export = JSON.parse(await text(request))
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? 'unknown'
      for (const { spans: received } of scopeSpans) spans.push(...received.map((span) => ({ ...span, service })))
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

const listFiles = (headers: Record<string, string>, { number = 0, from = '127.0.0.1' } = {}) =>
  get(`${resource.url}/v1/files?page_size=7`, { authorization: `Bearer ${tokens[number]}`, ...headers }, from)

/** The span of a trace that matches, when it has been exported. */
async function spanOf(traceId: string, service: string, kind: number): Promise<Span> {
  for (;;) {
    const found = collector.spans.find(
      (span) => span.traceId === traceId && span.service === service && span.kind === kind
    )
    if (found !== undefined) return found
    await wait(20)
  }
}

test('the spans of both services are one trace, from the span of the proxy to that of the introspection', async () => {
  const { traceId, spanId, headers } = newTrace()
  const { status, id } = await listFiles(headers)
  expect(status).toBe(200)
  const listed = await spanOf(traceId, 'resource', SERVER)
  const called = await spanOf(traceId, 'resource', CLIENT)
  const introspected = await spanOf(traceId, 'authorization', SERVER)
  expect([listed.parentSpanId, called.parentSpanId, introspected.parentSpanId]).toEqual([
    spanId,
    listed.spanId,
    called.spanId
  ])
  const [line] = await linesOf(cluster.authorizationServers[0]?.logFile, id)
  expect(line).toMatchObject({ route: '/introspect', trace_id: traceId, span_id: called.spanId })
})

test('no span has a query', async () => {
  const { traceId, headers } = newTrace()
  await listFiles(headers)
  const { attributes } = await spanOf(traceId, 'resource', SERVER)
  const keys = attributes.map(({ key }) => key)
  expect(keys).toContain('url.path')
  expect(keys).not.toContain('url.query')
  expect(JSON.stringify(collector.spans)).not.toContain('page_size')
})

test('concurrent requests: each introspection has a request as its parent, in the trace of the log line', async () => {
  const traces = tokens.map(() => newTrace())
  const responses = await Promise.all(traces.map(({ headers }, number) => listFiles(headers, { number })))
  expect(responses.map(({ status }) => status)).toEqual(tokens.map(() => 200))
  const sent = responses.map(({ id }, number) => [id, traces[number]?.traceId])
  for (const { id } of responses) {
    const [line] = await linesOf(cluster.authorizationServers[0]?.logFile, id)
    expect(sent).toContainEqual([line?.reqId, line?.trace_id])
    const called = await spanOf(line?.trace_id ?? '', 'resource', CLIENT)
    const listed = await spanOf(line?.trace_id ?? '', 'resource', SERVER)
    expect(called.parentSpanId).toBe(listed.spanId)
  }
})

test('an untrusted client does not choose the trace', async () => {
  const { traceId, headers } = newTrace()
  const { id } = await listFiles(headers, { from: STRANGER })
  const [line] = await linesOf(resource.logFile, id)
  expect(line).not.toHaveProperty('trace_id')
  // The call to the authorization server has the trace that the resource server began.
  const [introspected] = await linesOf(cluster.authorizationServers[0]?.logFile, id)
  expect(introspected?.trace_id).toMatch(/^(?!0+$)[0-9a-f]{32}$/)
  const listed = await spanOf(introspected?.trace_id ?? '', 'resource', SERVER)
  expect([listed.parentSpanId ?? '', listed.traceId === traceId]).toEqual(['', false])
})

test.each([
  { name: 'without the preload', options: [], state: 'proxy=1' },
  { name: 'with the preload, which adds its own', options: [`--import=${PRELOAD}`], state: undefined }
])('the introspection call has one traceparent on the wire, $name', async ({ options, state }) => {
  const received: string[][] = []
  const endpoint = createServer((request, response) => {
    received.push(request.rawHeaders)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}')
  })
  endpoint.listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/introspect`
  const { traceId, headers } = newTrace()
  const program = `
    import { buildIntrospector, readTraceContext } from '${GUARD}'
    const introspector = buildIntrospector({ url: '${url}', clientId: 'api', clientSecret: 'secret' })
    await introspector.introspect('token', 'request-1', readTraceContext(${JSON.stringify(headers)}))
    process.exit(0)`
  const environment = { PATH: process.env.PATH, INTROSPECTION_URL: url, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const child = spawn(process.execPath, [...options, '--input-type=module', '-e', program], {
    env: environment,
    stdio: 'inherit'
  })
  expect(await once(child, 'exit')).toEqual([0, null])
  endpoint.closeAllConnections()
  endpoint.close()
  const valuesOf = (name: string) =>
    received.flatMap((raw) => raw.filter((_value, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name))
  expect(valuesOf('traceparent')).toEqual([expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/)])
  expect(valuesOf('traceparent')[0]?.includes(traceId)).toBe(options.length === 0)
  expect(valuesOf('tracestate')).toEqual(state === undefined ? [] : [state])
})
