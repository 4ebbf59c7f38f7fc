import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import { afterEach, expect, test } from '@jest/globals'
import { readTraceContext } from '@valetkey/oauth-protocol'
import { batchRequests } from '../../src/introspection/batch-requests.js'
import { createIntrospectionEndpoint } from '../../src/introspection/introspection-endpoint.js'
import { isInstrumented } from '../../src/introspection/opentelemetry.js'
import { json, startFakeEndpoint } from '../fake-introspection-endpoint.js'

const API = Symbol.for('opentelemetry.js.api.1')
const created = channel('undici:request:create')
const subscriber = () => {}

function register({ subscribes = true, propagates = true } = {}): void {
  if (subscribes) created.subscribe(subscriber)
  Reflect.set(globalThis, API, propagates ? { propagation: {} } : {})
}
afterEach(() => {
  created.unsubscribe(subscriber)
  Reflect.deleteProperty(globalThis, API)
})

test.each([
  { name: 'nothing', options: undefined, expected: false },
  { name: 'an SDK without the instrumentation of undici', options: { subscribes: false }, expected: false },
  { name: 'an SDK without a propagator', options: { propagates: false }, expected: false },
  { name: 'an SDK with both', options: {}, expected: true }
])('the trace context with $name is $expected', ({ options, expected }) => {
  if (options !== undefined) register(options)
  expect(isInstrumented()).toBe(expected)
})

test('a subscriber without an SDK, such as one that counts requests, changes nothing', () => {
  created.subscribe(subscriber)
  expect(isInstrumented()).toBe(false)
})

test.each([
  { name: 'without OpenTelemetry', registers: false, sent: [expect.stringMatching(/^00-a{32}-/), 'a=1'] },
  { name: 'with OpenTelemetry, which adds its own', registers: true, sent: [undefined, undefined] }
])('the headers of the guard, $name', async ({ registers, sent }) => {
  const server = await startFakeEndpoint()
  const endpoint = createIntrospectionEndpoint({ url: server.url, clientId: 'rs', clientSecret: 'secret' })
  server.answers(json({ active: false }))
  if (registers) register()
  const trace = readTraceContext({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' })
  await endpoint.introspect('token', { requestIds: ['request-1'], trace })
  await endpoint.close()
  await server.close()
  expect(server.calls.map(({ headers }) => [headers.traceparent, headers.tracestate])).toEqual([sent])
})

test('a batch that waited for another one is sent in the context of its own first request', async () => {
  register()
  const context = new AsyncLocalStorage<string>()
  const sent: [string | undefined, readonly string[]][] = []
  const ask = batchRequests<string, string>(
    async (batch) => {
      sent.push([context.getStore(), batch])
      await new Promise((resolve) => setImmediate(resolve))
      return batch
    },
    { milliseconds: 1_000, failure: () => new Error('timeout') }
  )
  const first = context.run('first', () => ask('a'))
  // The first batch has been sent when this runs, and the next ones wait for it.
  const later = new Promise<string[]>((resolve) => {
    setImmediate(() => resolve(Promise.all(['b', 'c'].map((name) => context.run(`of ${name}`, () => ask(name))))))
  })
  await first
  expect(await later).toEqual(['b', 'c'])
  expect(sent).toEqual([
    ['first', ['a']],
    ['of b', ['b', 'c']]
  ])
})
