import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, startAdministration } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

const NAME_RULE = 'a name must have 1 to 100 characters, at least one of them visible, and no control characters'
const JSON_TYPE = { 'content-type': 'application/json' }

describe('invalid input is refused with the name of the member, and nothing is changed', () => {
  test.each([
    { name: 'an unknown member', body: { name: 'x', nmae: 'y' }, status: 400, detail: 'There is no member "nmae".' },
    { name: 'a missing member', body: {}, status: 400, detail: 'The member "name" is missing.' },
    { name: 'a number for a text', body: { name: 7 }, status: 400, detail: 'The member name must be a string.' },
    { name: 'null', body: 'null', status: 400, detail: 'The body must be an object.' },
    { name: 'a list', body: [], status: 400, detail: 'The body must be an object.' },
    { name: 'not JSON', body: '{"name":', status: 400, detail: 'The request could not be read.' },
    { name: 'an empty body', body: '', status: 400, detail: 'The body must be an object.' },
    {
      name: 'a member named __proto__',
      body: '{"name":"x","__proto__":{}}',
      status: 400,
      detail: 'The request could not be read.'
    },
    { name: 'a value that breaks a rule', body: { name: ' ' }, status: 422, detail: NAME_RULE },
    { name: 'a name without visible characters', body: { name: '\u200b' }, status: 422, detail: NAME_RULE },
    { name: 'a lone surrogate', body: { name: 'a\ud800' }, status: 422, detail: NAME_RULE },
    { name: 'a body over 16 KiB', body: { name: 'x'.repeat(17_000) }, status: 413, detail: 'The body is too large.' }
  ])('$name: $status', async ({ body, status, detail }) => {
    const answer = await admin.call('POST', '/operator-keys', body, JSON_TYPE)
    expect(answer.json()).toEqual({ title: expect.any(String), status, detail })
    expect(answer.statusCode).toBe(status)
    expect(answer.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/problem\+json/),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff'
    })
    expect((await admin.call('GET', '/operator-keys')).json().operator_keys).toHaveLength(1)
  })

  test('a compressed body is 415, after the key was checked', async () => {
    const coding = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    const answer = await admin.call('POST', '/operator-keys', { name: 'x' }, coding)
    expect([answer.statusCode, answer.headers['accept-encoding']]).toEqual([415, 'identity'])
    expect(answer.json().detail).toBe('The body must not be compressed: send it without Content-Encoding.')
    const withoutKey = { ...coding, authorization: 'Bearer unknown' }
    expect((await admin.call('POST', '/operator-keys', { name: 'x' }, withoutKey)).statusCode).toBe(401)
  })

  test('a form is 415', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await admin.call('POST', '/operator-keys', 'name=x', form)).statusCode).toBe(415)
  })
})

test('a lone surrogate in a text of a scope is 422', async () => {
  const answer = await admin.call('POST', '/scopes', { name: 'x.read', title: 'a\ud800', description: 'b' })
  expect(answer.statusCode).toBe(422)
})

describe('addresses and methods', () => {
  test('a wrong method is 405 with Allow, also with an id in the path', async () => {
    const list = await admin.call('PUT', '/operator-keys', {})
    expect([list.statusCode, list.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
    const one = await admin.call('GET', '/operator-keys/some-id')
    expect([one.statusCode, one.headers.allow]).toEqual([405, 'DELETE'])
  })

  test.each(['', '/', '/nowhere', '/operator-keys/', '/operator-keys/a/b'])(
    '%j is 404 with problem details',
    async (path) => {
      const answer = await admin.call('GET', path)
      expect(answer.json()).toEqual({ title: 'Not Found', status: 404, detail: 'There is nothing at this address.' })
    }
  )
})

test('a malformed path gets problem details', async () => {
  const answer = await admin.call('GET', '/users/%zz')
  expect(answer.json()).toEqual({ title: 'Bad Request', status: 400, detail: 'The request could not be read.' })
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
})

test('no CORS headers, also not for a preflight', async () => {
  const origin = { origin: 'https://elsewhere.example' }
  const answer = await admin.call('GET', '/operator-keys', undefined, origin)
  const preflight = await server.operatorServer.inject({
    method: 'OPTIONS',
    url: '/admin/operator-keys',
    headers: { ...origin, 'access-control-request-method': 'POST' }
  })
  expect(preflight.statusCode).toBe(401)
  for (const { headers } of [answer, preflight])
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test('while Postgres is unavailable: 503 with Retry-After, never 401', async () => {
  const away = await startTestServer()
  const key = (await startAdministration(away)).operatorKey
  await away.database.close()
  const answer = await away.operatorServer.inject({
    url: '/admin/operator-keys',
    headers: { authorization: `Bearer ${key}` }
  })
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '2'])
  await away.close().catch(() => {})
})
