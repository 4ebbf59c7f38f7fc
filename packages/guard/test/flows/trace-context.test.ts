import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { fastify } from 'fastify'
import { bearerPlugin } from '../../src/fastify/index.js'
import { createGuard, type Guard, type GuardOptions, readTraceContext } from '../../src/index.js'
import { ISSUER, live, RESOURCE } from '../adapters/cases.js'
import { requestOf, send } from '../adapters/check-case.js'
import { ADAPTERS } from '../adapters/servers.js'
import { type FakeEndpoint, json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`
const CHILD = new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-01$`)
const BEARER = ['Authorization', 'Bearer abc'] as const
const traced = requestOf({ headers: [BEARER, ['TraceParent', VALID], ['tracestate', 'a=1'], ['Tracestate', 'b=2']] })

let endpoint: FakeEndpoint
let guard: Guard
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
afterEach(() => guard.close())
afterAll(() => endpoint.close())

type Line = Record<string, unknown>

function guardWith(options: Partial<GuardOptions>): { guard: Guard; lines: Line[] } {
  const lines: Line[] = []
  const write = (members: object) => void lines.push({ ...members })
  const introspection = { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  guard = createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    introspection,
    log: { info: write, warn: write, error: write },
    ...options
  })
  return { guard, lines }
}

const sentHeaders = () => endpoint.calls.map(({ headers }) => [headers.traceparent, headers.tracestate])

describe.each(ADAPTERS)('$name', (adapter) => {
  async function sendTo(options: Partial<GuardOptions>, request = traced) {
    const { guard, lines } = guardWith(options)
    endpoint.answers(json(live))
    const api = await adapter.start(guard)
    const { status } = await send(api, request)
    await api.close()
    expect(status).toBe(200)
    return lines
  }

  test('of a trusted peer: the introspection call has the trace, a new span and the state', async () => {
    await sendTo({ trustTraceContext: true })
    expect(sentHeaders()).toEqual([[expect.stringMatching(CHILD), 'a=1, b=2']])
  })

  test.each([
    { name: 'by default', options: {} },
    { name: 'with false', options: { trustTraceContext: false } },
    { name: 'with a function that refuses the peer', options: { trustTraceContext: () => false } }
  ])('of an untrusted client, $name: the introspection call has no trace', async ({ options }) => {
    await sendTo(options)
    expect(sentHeaders()).toEqual([[undefined, undefined]])
  })

  test('a function gets the address of the peer, which web requests lack', async () => {
    const addresses: unknown[] = []
    const trustTraceContext = (address: string | undefined) => addresses.push(address) > 0
    await sendTo({ trustTraceContext })
    expect(addresses).toEqual([adapter.joinsHeaders ? undefined : '127.0.0.1'])
    expect(sentHeaders()).toEqual([[expect.stringMatching(CHILD), 'a=1, b=2']])
  })

  test.each([
    {
      name: 'two headers',
      headers: [
        ['traceparent', VALID],
        ['traceparent', VALID]
      ] as const
    },
    {
      name: 'two headers of a later version',
      headers: [
        ['traceparent', `01${VALID.slice(2)}-x`],
        ['traceparent', VALID]
      ] as const
    },
    { name: 'trace id 0', headers: [['traceparent', `00-${'0'.repeat(32)}-${SPAN}-01`]] as const },
    { name: 'tracestate alone', headers: [] }
  ])('$name: neither header is sent', async ({ headers }) => {
    await sendTo({ trustTraceContext: true }, requestOf({ headers: [BEARER, ...headers, ['tracestate', 'a=1']] }))
    expect(sentHeaders()).toEqual([[undefined, undefined]])
  })

  test('traceparent alone: no state is made', async () => {
    await sendTo({ trustTraceContext: true }, requestOf({ headers: [BEARER, ['traceparent', VALID]] }))
    expect(sentHeaders()).toEqual([[expect.stringMatching(CHILD), undefined]])
  })

  test('without traceparent, no header is made, and no peer is looked up', async () => {
    const trustTraceContext = () => {
      throw new Error('looked up')
    }
    await sendTo({ trustTraceContext }, requestOf())
    expect(sentHeaders()).toEqual([[undefined, undefined]])
  })
})

describe('log lines of the guard', () => {
  const trustedTrace = readTraceContext({ traceparent: VALID })
  const request = { method: 'GET', url: '/', rawHeaders: BEARER }
  const ids = { trace_id: TRACE, span_id: SPAN }

  test.each([
    { name: 'a refusal', answer: json({ active: false }), event: 'access_token_refused' },
    { name: 'an outage', answer: raw(500, ''), event: 'introspection_unavailable' }
  ])('$name has trace_id and span_id, if the request has a context', async ({ answer, event }) => {
    const { guard, lines } = guardWith({})
    endpoint.answers(answer)
    await guard.check(request, [], { trustedTrace })
    await guard.check(request)
    expect(lines).toMatchObject([{ event, ...ids }, { event }])
    expect(lines[1]).not.toHaveProperty('trace_id')
  })

  test('the log of a request has the members already', async () => {
    const { guard, lines } = guardWith({})
    endpoint.answers(json({ active: false }))
    const own: Line[] = []
    const write = (members: object) => void own.push({ ...members })
    await guard.check(request, [], { trustedTrace, log: { info: write, warn: write, error: write } })
    expect(own).toEqual([{ event: 'access_token_refused', reason: 'not_active' }])
    expect(lines).toEqual([])
  })

  test('with Fastify, they go to the log of the request', async () => {
    const { guard } = guardWith({ trustTraceContext: true })
    endpoint.answers(json({ active: false }))
    const lines: Line[] = []
    const app = fastify({ logger: { stream: { write: (line: string) => void lines.push(JSON.parse(line)) } } })
    await app.register(bearerPlugin, { guard })
    app.get('/', { onRequest: app.requireAccessToken() }, async () => ({}))
    await app.inject({ url: '/', headers: { authorization: 'Bearer abc', traceparent: VALID } })
    await app.close()
    const [refusal] = lines.filter(({ event }) => event === 'access_token_refused')
    expect(refusal).toMatchObject({ reqId: expect.any(String), ...ids })
  })
})

test('a custom introspector gets the context as its third argument', async () => {
  const given: unknown[][] = []
  const introspect = (...parameters: unknown[]) => {
    given.push(parameters)
    return { active: false } as const
  }
  const { guard } = guardWith({ introspection: { introspect, close: async () => {} } })
  const trustedTrace = readTraceContext({ traceparent: VALID, tracestate: 'a=1' })
  const request = { method: 'GET', url: '/', rawHeaders: BEARER }
  await guard.check(request, [], { id: 'request-1', trustedTrace })
  await guard.check(request)
  const context = { traceId: TRACE, spanId: SPAN, flags: 1, state: 'a=1' }
  expect(given).toEqual([
    ['abc', 'request-1', context],
    ['abc', '', undefined]
  ])
})
