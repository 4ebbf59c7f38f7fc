import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { buildIntrospector, type IntrospectionUnavailableError, type Introspector } from '../../src/index.js'
import { json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { until } from '../until.js'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let introspector: Introspector
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
beforeEach(() => {
  introspector = build()
})
afterEach(() => introspector.close())
afterAll(() => endpoint.close())

function build(timeoutMs = 60_000): Introspector {
  const severalUrl = new URL('introspections', endpoint.url).href
  return buildIntrospector({ url: endpoint.url, severalUrl, clientId: 'rs', clientSecret: 'secret', timeoutMs })
}

/** Answers each token with the token as the subject, alone or in a list. */
function answerByName(exceptions: Readonly<Record<string, unknown>> = {}) {
  endpoint.answers((response, { path, body }) => {
    const form = new URLSearchParams(body)
    const about = (token: string) => exceptions[token] ?? { active: true, sub: token }
    const one = form.get('token')
    json(path === '/introspections' ? (form.get('tokens') ?? '').split(' ').map(about) : about(one ?? ''))(response)
  })
}

const ask = async (...tokens: string[]) =>
  (await Promise.allSettled(tokens.map(async (token) => introspector.introspect(token, `request-of-${token}`)))).map(
    (outcome) =>
      outcome.status === 'fulfilled'
        ? outcome.value.active && outcome.value.subject
        : (outcome.reason as IntrospectionUnavailableError).reason
  )

const paths = () => endpoint.calls.map(({ path }) => path)

test('concurrent tokens share one request, and each gets its own result', async () => {
  answerByName({ b: { active: false } })
  expect(await ask('a', 'b', 'c')).toEqual(['a', false, 'c'])
  expect(paths()).toEqual(['/introspections'])
  expect(endpoint.calls[0]?.headers).toMatchObject({
    'x-request-id': 'request-of-a',
    'x-other-request-ids': 'request-of-b,request-of-c',
    authorization: expect.stringMatching(/^Basic /)
  })
})

test('a single token is sent as in RFC 7662', async () => {
  answerByName()
  expect(await ask('a')).toEqual(['a'])
  expect([paths(), endpoint.calls[0]?.body]).toEqual([['/introspect'], 'token=a&token_type_hint=access_token'])
})

test.each([
  { name: 'with a space', token: 'a b' },
  { name: 'with a plus', token: 'a+b' },
  { name: 'with an ampersand', token: 'a&tokens=b' },
  { name: 'of 129 characters', token: 'a'.repeat(129) }
])('a token $name is sent alone, and the others together', async ({ token }) => {
  answerByName()
  expect(await ask('x', token, 'y')).toEqual(['x', token, 'y'])
  expect(paths().sort()).toEqual(['/introspect', '/introspections'])
})

test('a shared call has the ids of all its requests', async () => {
  answerByName()
  const requests = ['first-request', 'second-request', 'third-request']
  await Promise.all(requests.map((request) => introspector.introspect('a', request)))
  const ids = endpoint.calls.map(({ headers }) => [headers['x-request-id'], headers['x-other-request-ids']])
  expect(ids).toEqual([
    ['first-request', undefined],
    ['second-request', 'third-request']
  ])
})

test('a batch has the trace of its first request that has one, with a new span (W3C Trace Context §4.3)', async () => {
  answerByName()
  const traceOf = (digit: string) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16), flags: 1, state: 'a=1' })
  const traces = [undefined, traceOf('2'), traceOf('3')]
  await Promise.all(traces.map((trace, number) => introspector.introspect(`token-${number}`, 'some-request', trace)))
  expect(paths()).toEqual(['/introspections'])
  const { traceparent, tracestate } = endpoint.calls[0]?.headers ?? {}
  expect([traceparent, tracestate]).toEqual([expect.stringMatching(/^00-2{32}-[0-9a-f]{16}-01$/), 'a=1'])
  expect(traceparent).not.toContain(`-${'2'.repeat(16)}-`)
})

test('request ids are sent once, and only if they are safe in a header and a log', async () => {
  answerByName()
  const requests = ['first-request', 'short', 'with blank', 'first-request', 'x'.repeat(65), 'last-request']
  await Promise.all(requests.map((request, number) => introspector.introspect(`token-${number}`, request)))
  const [call] = endpoint.calls
  expect(call?.headers).toMatchObject({ 'x-request-id': 'first-request', 'x-other-request-ids': 'last-request' })
})

test('more than 64 tokens are sent in several requests', async () => {
  answerByName()
  const tokens = Array.from({ length: 200 }, (_, number) => `token-${number}`)
  expect(await ask(...tokens)).toEqual(tokens)
  expect(paths().length).toBeLessThanOrEqual(5)
  for (const { body } of endpoint.calls) expect(body.split('+').length).toBeLessThanOrEqual(64)
})

test('an unreadable result in a list fails one token only', async () => {
  answerByName({ b: { active: 'yes' } })
  expect(await ask('a', 'b', 'c')).toEqual(['a', 'unreadable_response', 'c'])
})

test('64 results with 100 scopes each fit into one response', async () => {
  const scope = Array.from({ length: 100 }, (_, number) => `some.scope.of.an.api:${number}`).join(' ')
  const tokens = Array.from({ length: 64 }, (_, number) => `token-${number}`)
  answerByName(Object.fromEntries(tokens.map((token) => [token, { active: true, sub: token, scope }])))
  expect(await ask(...tokens)).toEqual(tokens)
  expect(paths()).toEqual(['/introspections'])
})

test('a response of 100,000 characters for one token fails', async () => {
  answerByName({ long: { active: true, sub: 'long', scope: 'x'.repeat(100_000) } })
  expect(await ask('long')).toEqual(['unreachable'])
})

describe('all tokens of a list fail if the response is', () => {
  test.each([
    { name: 'a list that is too short', answer: json([{ active: true }]), reason: 'unreadable_response' },
    {
      name: 'a list that is too long',
      answer: json([{ active: true }, { active: true }, { active: true }]),
      reason: 'unreadable_response'
    },
    { name: 'a single answer', answer: json({ active: true }), reason: 'unreadable_response' },
    { name: 'not JSON', answer: raw(200, '['), reason: 'unreadable_response' },
    { name: 'a 401 for our own credentials', answer: raw(401, '{}'), reason: 'bad_status' },
    { name: 'a server error', answer: raw(500, '[]'), reason: 'bad_status' },
    { name: 'missing', answer: () => {}, reason: 'timeout', timeoutMs: 500 }
  ])('$name', async ({ answer, reason, timeoutMs }) => {
    await introspector.close()
    introspector = build(timeoutMs)
    endpoint.answers(answer)
    expect(await ask('a', 'b')).toEqual([reason, reason])
  })
})

test.each([403, 404, 405])(
  'a server without the list endpoint gets single calls, and the endpoint is not tried again for a while (%d)',
  async (status) => {
    endpoint.answers((response, { path }) =>
      (path === '/introspect' ? json({ active: true, sub: 'alone' }) : raw(status, ''))(response)
    )
    expect(await ask('a', 'b')).toEqual(['alone', 'alone'])
    expect(paths().sort()).toEqual(['/introspect', '/introspect', '/introspections'])
    expect(await ask('c', 'd')).toEqual(['alone', 'alone'])
    expect(paths().filter((path) => path === '/introspections')).toHaveLength(1)
  }
)

test('slow calls do not delay later tokens', async () => {
  const delayed: (() => void)[] = []
  endpoint.answers((response, { body }) => {
    if (body.includes('slow')) delayed.push(() => json({ active: true, sub: 'slow' })(response))
    else json({ active: true, sub: 'quick' })(response)
  })
  const slow: Promise<unknown>[] = []
  for (const token of ['slow-1', 'slow-2', 'slow-3']) {
    slow.push(ask(token))
    await until(() => delayed.length === slow.length)
  }
  expect(await ask('a')).toEqual(['quick'])
  for (const answer of delayed) answer()
  expect(await Promise.all(slow)).toEqual([['slow'], ['slow'], ['slow']])
})
