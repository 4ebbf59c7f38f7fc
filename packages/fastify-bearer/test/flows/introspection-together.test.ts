import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { buildIntrospector, type IntrospectionUnavailableError, type Introspector } from '../../src/index.js'
import { json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'

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

function build(): Introspector {
  const severalUrl = new URL('introspections', endpoint.url).href
  return buildIntrospector({ url: endpoint.url, severalUrl, clientId: 'rs', clientSecret: 'secret', timeoutMs: 500 })
}

/** Answers about each token with its own name as the subject, in the way the request asks. */
function answerByName(oddOnes: Readonly<Record<string, unknown>> = {}) {
  endpoint.answers((response, { path, body }) => {
    const form = new URLSearchParams(body)
    const about = (token: string) => oddOnes[token] ?? { active: true, sub: token }
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

test('tokens that are asked about at the same time go in one request, and each has its own answer', async () => {
  answerByName({ b: { active: false } })
  expect(await ask('a', 'b', 'c')).toEqual(['a', false, 'c'])
  expect(paths()).toEqual(['/introspections'])
  expect(endpoint.calls[0]?.headers).toMatchObject({
    'x-request-id': 'request-of-a',
    'x-other-request-ids': 'request-of-b,request-of-c',
    authorization: expect.stringMatching(/^Basic /)
  })
})

test('a token that is asked about alone goes the way of RFC 7662', async () => {
  answerByName()
  expect(await ask('a')).toEqual(['a'])
  expect([paths(), endpoint.calls[0]?.body]).toEqual([['/introspect'], 'token=a&token_type_hint=access_token'])
})

test.each([
  { name: 'with a blank', token: 'a b' },
  { name: 'with a plus', token: 'a+b' },
  { name: 'with an ampersand', token: 'a&tokens=b' },
  { name: 'of great length', token: 'a'.repeat(129) }
])('a token $name is asked about alone, and the others together', async ({ token }) => {
  answerByName()
  expect(await ask('x', token, 'y')).toEqual(['x', token, 'y'])
  expect(paths().sort()).toEqual(['/introspect', '/introspections'])
})

test('requests for the same token are all named by the call after the one that is under way', async () => {
  answerByName()
  const requests = ['first-request', 'second-request', 'third-request']
  await Promise.all(requests.map((request) => introspector.introspect('a', request)))
  const ids = endpoint.calls.map(({ headers }) => [headers['x-request-id'], headers['x-other-request-ids']])
  expect(ids).toEqual([
    ['first-request', undefined],
    ['second-request', 'third-request']
  ])
})

test('ids that a header or a log should not have stay here, and one that comes twice is named once', async () => {
  answerByName()
  const requests = ['first-request', 'short', 'with blank', 'first-request', 'x'.repeat(65), 'last-request']
  await Promise.all(requests.map((request, number) => introspector.introspect(`token-${number}`, request)))
  const [call] = endpoint.calls
  expect(call?.headers).toMatchObject({ 'x-request-id': 'first-request', 'x-other-request-ids': 'last-request' })
})

test('more than fit into one request go in several', async () => {
  answerByName()
  const tokens = Array.from({ length: 200 }, (_, number) => `token-${number}`)
  expect(await ask(...tokens)).toEqual(tokens)
  expect(paths().length).toBeLessThanOrEqual(5)
  for (const { body } of endpoint.calls) expect(body.split('+').length).toBeLessThanOrEqual(64)
})

test('an answer that cannot be read is the trouble of whoever asked for it', async () => {
  answerByName({ b: { active: 'yes' } })
  expect(await ask('a', 'b', 'c')).toEqual(['a', 'unreadable_answer', 'c'])
})

test('answers that are long, for their tokens have many scopes, go in one request as well', async () => {
  const scope = Array.from({ length: 100 }, (_, number) => `some.scope.of.an.api:${number}`).join(' ')
  const tokens = Array.from({ length: 64 }, (_, number) => `token-${number}`)
  answerByName(Object.fromEntries(tokens.map((token) => [token, { active: true, sub: token, scope }])))
  expect(await ask(...tokens)).toEqual(tokens)
  expect(paths()).toEqual(['/introspections'])
})

test('an answer of great length about one token is none, whatever room a list has', async () => {
  answerByName({ long: { active: true, sub: 'long', scope: 'x'.repeat(100_000) } })
  expect(await ask('long')).toEqual(['unreachable'])
})

describe('nothing is known of any of them', () => {
  test.each([
    { name: 'a list that is too short', answer: json([{ active: true }]), reason: 'unreadable_answer' },
    {
      name: 'a list that is too long',
      answer: json([{ active: true }, { active: true }, { active: true }]),
      reason: 'unreadable_answer'
    },
    { name: 'one answer instead of a list', answer: json({ active: true }), reason: 'unreadable_answer' },
    { name: 'no JSON', answer: raw(200, '['), reason: 'unreadable_answer' },
    { name: 'a refusal of our own credentials', answer: raw(401, '{}'), reason: 'bad_status' },
    { name: 'a server error', answer: raw(500, '[]'), reason: 'bad_status' },
    { name: 'silence', answer: () => {}, reason: 'timeout' }
  ])('$name', async ({ answer, reason }) => {
    endpoint.answers(answer)
    expect(await ask('a', 'b')).toEqual([reason, reason])
  })
})

test.each([403, 404, 405])(
  'a server that does not know the address is asked about each alone, and not tried again for a while (%d)',
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

test('answers that are slow hold up nobody who asks after them', async () => {
  endpoint.answers((response, { body }) => {
    if (!body.includes('slow')) json({ active: true, sub: 'quick' })(response)
  })
  const slow = [ask('slow-1'), wait(5).then(() => ask('slow-2')), wait(10).then(() => ask('slow-3'))]
  await wait(60)
  expect(await Promise.race([ask('a'), wait(300)])).toEqual(['quick'])
  expect(await Promise.all(slow)).toEqual([['timeout'], ['timeout'], ['timeout']])
})
