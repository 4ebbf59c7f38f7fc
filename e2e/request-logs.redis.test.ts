import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { get, linesOf, newTrace } from './support/traced-requests.js'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

/** The cluster trusts 127.0.0.1 as a proxy. */
const STRANGER = '127.0.0.2'

let cluster: Cluster
let tokens: string[]
beforeAll(async () => {
  cluster = await startCluster({ authorizationServers: 1, resourceServers: 1, logLevel: 'info' })
  const source = await createTokenSource(cluster)
  tokens = []
  for (let count = 0; count < 40; count++) tokens.push(await source.nextToken())
})
afterAll(() => cluster?.stop())

const sendList = (token: string | undefined, headers: Record<string, string> = {}, from?: string) =>
  get(`${cluster.resourceServers[0]?.url}/v1/files`, { authorization: `Bearer ${token}`, ...headers }, from)

describe('request ids', () => {
  async function listFiles(token: string): Promise<string> {
    const { status, id } = await sendList(token)
    expect(status).toBe(200)
    return id
  }

  const inBothLogs = async (id: string) => ({
    resource: (await linesOf(cluster.resourceServers[0]?.logFile, id)).map(({ route }) => route),
    authorization: await linesOf(cluster.authorizationServers[0]?.logFile, id)
  })

  test('the request id of a response is in the logs of both services', async () => {
    const id = await listFiles(tokens[0] ?? '')
    const { resource, authorization } = await inBothLogs(id)
    expect(resource).toEqual(['/v1/files'])
    expect(authorization).toMatchObject([{ event: 'request', reqId: id, route: '/introspect' }])
  })

  test.each([
    { name: 'different tokens', tokenOf: (number: number) => tokens[number] ?? '' },
    { name: 'the same token', tokenOf: () => tokens[0] ?? '' }
  ])('requests that share a call, with $name: each id is in both logs', async ({ tokenOf }) => {
    const ids = await Promise.all(tokens.map((_token, number) => listFiles(tokenOf(number))))
    const shared = new Set<string>()
    for (const id of ids) {
      const { resource, authorization } = await inBothLogs(id)
      expect([id, resource]).toEqual([id, ['/v1/files']])
      const [line] = authorization.filter(({ event }) => event === 'request')
      expect([line?.reqId, ...(line?.otherReqIds ?? [])]).toContain(id)
      if ((line?.otherReqIds ?? []).length > 0) shared.add(line?.reqId ?? '')
    }
    // Otherwise the test would not cover requests that share a call.
    expect(shared.size).toBeGreaterThan(0)
    expect(new Set(ids).size).toBe(tokens.length)
  })
})

describe('traces', () => {
  /** Lists files, and returns the lines of the request in both logs. */
  async function listFiles(
    headers: Record<string, string>,
    { number = 0, from }: { number?: number; from?: string } = {}
  ) {
    const response = await sendList(tokens[number], headers, from)
    expect(response.status).toBe(200)
    const [resource] = await linesOf(cluster.resourceServers[0]?.logFile, response.id)
    const [authorization] = await linesOf(cluster.authorizationServers[0]?.logFile, response.id)
    return { resource, authorization }
  }

  test('a trace from a trusted proxy is in the logs of both services, each with the span of its caller', async () => {
    const { traceId, spanId, headers } = newTrace()
    const { resource, authorization } = await listFiles(headers)
    expect(resource).toMatchObject({ event: 'request', trace_id: traceId, span_id: spanId })
    expect(authorization).toMatchObject({ event: 'request', route: '/introspect', trace_id: traceId })
    expect(authorization?.span_id).toMatch(/^[0-9a-f]{16}$/)
    expect(authorization?.span_id).not.toBe(spanId)
  })

  test.each([
    { name: 'no header', headers: {}, from: undefined },
    { name: 'tracestate alone', headers: { tracestate: 'proxy=1' }, from: undefined },
    { name: 'an invalid header', headers: { traceparent: 'ff-0-0-0' }, from: undefined },
    { name: 'an untrusted peer', headers: newTrace().headers, from: STRANGER }
  ])('$name: no log line has a trace', async ({ headers, from }) => {
    const { resource, authorization } = await listFiles(headers, from === undefined ? {} : { from })
    for (const line of [resource, authorization]) {
      expect(line).toMatchObject({ event: 'request' })
      expect(line).not.toHaveProperty('trace_id')
      expect(line).not.toHaveProperty('span_id')
    }
  })

  test('a call that several requests share: its log line has the trace of the first request with a trace', async () => {
    const traces = tokens.map((_token, number) => (number % 2 === 0 ? undefined : newTrace()))
    const lines = await Promise.all(traces.map((trace, number) => listFiles(trace?.headers ?? {}, { number })))
    const traceOf = new Map(lines.map(({ resource }, number) => [resource?.reqId, traces[number]?.traceId]))
    let shared = 0
    for (const { authorization } of lines) {
      const ids = [authorization?.reqId, ...(authorization?.otherReqIds ?? [])]
      const found = ids.map((id) => traceOf.get(id)).filter((traceId) => traceId !== undefined)
      expect(authorization?.trace_id).toBe(found[0])
      if (found.length > 1) shared += 1
    }
    // Otherwise the test would not cover requests that share a call.
    expect(shared).toBeGreaterThan(0)
  })

  test('the audit event of a request has its trace id, and the response has none of it', async () => {
    const { traceId, headers } = newTrace()
    const url = `http://127.0.0.1:${cluster.authorizationServers[0]?.publicPort}/oauth/authorize?client_id=unknown`
    const response = await get(url, headers)
    expect(response.headers).not.toMatch(new RegExp(`${traceId}|traceparent|tracestate`, 'i'))
    const text = 'select event, request_id, trace_id from audit_events where request_id = $1'
    let rows: object[] = []
    while (rows.length === 0) rows = await cluster.query(text, [response.id])
    expect(rows).toEqual([{ event: 'authorization_refused', request_id: response.id, trace_id: traceId }])
  })
})
