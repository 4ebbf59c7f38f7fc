import { describe, expect, test } from '@jest/globals'
import { fastify } from 'fastify'
import { bearerPlugin } from '../../src/fastify/index.js'
import { buildIntrospector } from '../../src/index.js'
import { json } from '../fake-introspection-endpoint.js'
import { bearer, buildApi, ISSUER, inOneHour, live, RESOURCE, token, useGuardedApi } from '../guarded-api.js'

const METADATA = `${RESOURCE}/.well-known/oauth-protected-resource`

const served = useGuardedApi()

/** A list sends several Authorization headers, which the types of `inject` do not allow. */
function get(url: string, authorization?: string | string[]) {
  return served.app.inject({
    method: 'GET',
    url,
    headers: authorization === undefined ? {} : { authorization: authorization as string }
  })
}

const challenge = (error?: string, description?: string) =>
  `Bearer realm="files", scope="files.read", resource_metadata="${METADATA}"` +
  (error ? `, error="${error}", error_description="${description}"` : '')

test('a valid token of sufficient scope: 200, and the handler gets the token', async () => {
  served.endpoint.answers(json(live))
  const response = await get('/files', bearer)
  expect(response.statusCode).toBe(200)
  expect(response.json()).toEqual({
    scope: ['files.read', 'profile'],
    audience: [RESOURCE],
    subject: 'alice-id',
    clientId: 'printer',
    expiresAt: new Date(inOneHour * 1000).toISOString(),
    jti: 'token-1',
    grantId: 'grant-1'
  })
})

test('the call has the token, a hint, the form-encoded credentials and the request id (RFC 7662 §2.1)', async () => {
  served.endpoint.answers(json(live))
  await served.app.inject({ url: '/files', headers: { authorization: bearer } })
  expect(served.endpoint.calls).toHaveLength(1)
  const { headers, body } = served.endpoint.calls[0] ?? { path: '', headers: {}, body: '' }
  expect(body).toBe(`token=${token}&token_type_hint=access_token`)
  expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(headers.authorization).toBe(`Basic ${Buffer.from('rs:rs+secret').toString('base64')}`)
  expect(headers['x-request-id']).toMatch(/^req-/)
})

test.each([
  { name: 'no header', authorization: undefined },
  { name: 'another scheme', authorization: 'Basic cnM6c2VjcmV0' }
])('401 without an error code: $name (RFC 6750 §3.1)', async ({ authorization }) => {
  const response = await get('/files', authorization)
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toBe(challenge())
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.json()).not.toHaveProperty('error')
})

describe('401 invalid_token, the same response for all (RFC 6750 §3.1)', () => {
  const refused = [
    { name: 'a malformed token', answer: live, authorization: 'Bearer a b' },
    { name: 'a wrong checksum', answer: live, authorization: `${bearer.slice(0, -1)}${bearer.endsWith('0') ? 1 : 0}` },
    { name: 'not active', answer: { active: false }, authorization: bearer },
    { name: 'expired by both clocks', answer: { ...live, exp: inOneHour - 3601 }, authorization: bearer },
    { name: 'another audience', answer: { ...live, aud: 'https://other.example' }, authorization: bearer },
    { name: 'no audience', answer: { ...live, aud: undefined }, authorization: bearer },
    { name: 'another issuer', answer: { ...live, iss: 'https://evil.example' }, authorization: bearer },
    { name: 'a DPoP token', answer: { ...live, token_type: 'DPoP' }, authorization: bearer },
    { name: 'bound to a key', answer: { ...live, cnf: { jkt: 'x' } }, authorization: bearer }
  ]

  test.each(refused)('$name', async ({ answer, authorization }) => {
    served.endpoint.answers(json(answer))
    const response = await get('/files', authorization)
    expect(response.statusCode).toBe(401)
    expect(response.headers['www-authenticate']).toBe(challenge('invalid_token', 'The access token is not valid here.'))
    expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(response.json()).toEqual({
      title: 'Unauthorized',
      status: 401,
      detail: 'The access token is not valid here.',
      error: 'invalid_token'
    })
  })

  test('a token without a valid checksum causes no call', async () => {
    served.endpoint.answers(json(live))
    await get('/files', 'Bearer vk_at_nonsense')
    expect(served.endpoint.calls).toHaveLength(0)
  })
})

test.each([
  { name: 'the audience as a URL parser writes it', answer: { ...live, aud: `${RESOURCE}/` } },
  { name: 'the other sufficient scope', answer: { ...live, scope: 'files.read:images' } }
])('accepted: $name', async ({ answer }) => {
  served.endpoint.answers(json(answer))
  expect((await get('/files', bearer)).statusCode).toBe(200)
})

test.each([
  { name: 'no audience', answer: { ...live, aud: undefined }, status: 200 },
  { name: 'this audience', answer: live, status: 200 },
  { name: 'another audience', answer: { ...live, aud: 'https://other.example' }, status: 401 }
])('audience: if-present, a result with $name: $status (RFC 7662 §2.2)', async ({ answer, status }) => {
  served.endpoint.answers(json(answer))
  const api = await buildApi(served.endpoint.url, { audience: 'if-present' })
  expect((await api.inject({ url: '/files', headers: { authorization: bearer } })).statusCode).toBe(status)
  await api.close()
})

test.each([
  { name: 'none of several', url: '/files', scope: 'profile', named: 'files.read' },
  { name: 'no scope', url: '/files', scope: undefined, named: 'files.read' },
  { name: 'one of two required scopes', url: '/both', scope: 'files.read', named: 'files.read files.share' }
])('403 insufficient_scope: $name (RFC 6750 §3.1)', async ({ url, scope, named }) => {
  served.endpoint.answers(json({ ...live, scope }))
  const response = await get(url, bearer)
  expect(response.statusCode).toBe(403)
  expect(response.headers['www-authenticate']).toContain(`scope="${named}"`)
  expect(response.headers['www-authenticate']).toContain('error="insufficient_scope"')
  expect(response.headers['www-authenticate']).toContain(`resource_metadata="${METADATA}"`)
})

test.each([
  { name: 'in the query', url: `/files?access_token=${token}`, authorization: undefined },
  { name: 'in query and header', url: `/files?access_token=${token}`, authorization: bearer },
  { name: 'in two headers', url: '/files', authorization: [bearer, bearer] }
])('400 invalid_request: a token $name (RFC 6750 §2, §3.1)', async ({ url, authorization }) => {
  served.endpoint.answers(json(live))
  const response = await get(url, authorization)
  expect(response.statusCode).toBe(400)
  expect(response.headers['www-authenticate']).toContain('error="invalid_request"')
  expect(served.endpoint.calls).toHaveLength(0)
})

describe('a token is expired if the clocks of both sides say so', () => {
  const HOUR = 3_600_000
  /** The server responds with this `Date`; undefined: without a `Date`. */
  const answerAt = (date: number | undefined) =>
    served.endpoint.answers((response) => {
      response.sendDate = false
      if (date !== undefined) response.setHeader('date', new Date(date).toUTCString())
      response.writeHead(200).end(JSON.stringify(live))
    })

  test.each([
    { name: 'only the clock of the API is ahead', api: 2 * HOUR, server: 0, status: 200 },
    { name: 'only the clock of the API is 400 days ahead', api: 9_600 * HOUR, server: 0, status: 200 },
    { name: 'that of the server alone is ahead', api: 0, server: 2 * HOUR, status: 200 },
    { name: 'both are ahead', api: 2 * HOUR, server: 2 * HOUR, status: 401 },
    {
      name: 'the server sends no Date, and the clock of the API is after the expiry',
      api: 2 * HOUR,
      server: undefined,
      status: 401
    },
    {
      name: 'the server sends no Date, and the clock of the API is before the expiry',
      api: 0,
      server: undefined,
      status: 200
    }
  ])('$name: $status', async ({ api, server, status }) => {
    answerAt(server === undefined ? undefined : Date.now() + server)
    const behind = await buildApi(served.endpoint.url, { now: () => new Date(Date.now() + api) })
    expect((await behind.inject({ url: '/files', headers: { authorization: bearer } })).statusCode).toBe(status)
    await behind.close()
  })
})

describe('a cached result is validated at each request', () => {
  test('scope', async () => {
    served.endpoint.answers(json(live))
    const introspection = { url: served.endpoint.url, clientId: 'rs', clientSecret: 'secret', cache: { seconds: 60 } }
    const api = await buildApi(served.endpoint.url, { introspection })
    const headers = { authorization: bearer }
    expect((await api.inject({ url: '/files', headers })).statusCode).toBe(200)
    expect((await api.inject({ url: '/both', headers })).statusCode).toBe(403)
    expect(served.endpoint.calls).toHaveLength(1)
    await api.close()
  })

  test('audience', async () => {
    served.endpoint.answers(json(live))
    const settings = { url: served.endpoint.url, clientId: 'rs', clientSecret: 'secret', cache: { seconds: 60 } }
    const introspection = buildIntrospector(settings)
    const [here, elsewhere] = await Promise.all(
      [RESOURCE, 'https://other.example'].map((resource) => buildApi(served.endpoint.url, { introspection, resource }))
    )
    const headers = { authorization: bearer }
    expect((await here?.inject({ url: '/files', headers }))?.statusCode).toBe(200)
    expect((await elsewhere?.inject({ url: '/files', headers }))?.statusCode).toBe(401)
    expect(served.endpoint.calls).toHaveLength(1)
    await Promise.all([here?.close(), elsewhere?.close(), introspection.close()])
  })
})

test('on a route without a guard, accessToken throws: 500', async () => {
  const response = await get('/open', bearer)
  expect(response.statusCode).toBe(500)
  expect(response.json().message).toContain('requireAccessToken')
})

test('a second token in a form: 400 (RFC 6750 §2)', async () => {
  served.endpoint.answers(json(live))
  const api = fastify()
  api.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body)
  )
  const introspection = { url: served.endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  await api.register(bearerPlugin, { issuer: ISSUER, resource: RESOURCE, scopesSupported: [], introspection })
  api.post('/upload', { onRequest: api.requireAccessToken() }, async () => ({}))
  const post = (payload: string) =>
    api.inject({
      method: 'POST',
      url: '/upload',
      headers: { authorization: bearer, 'content-type': 'application/x-www-form-urlencoded' },
      payload
    })
  expect((await post('name=x')).statusCode).toBe(200)
  expect((await post(`name=x&access_token=${token}`)).statusCode).toBe(400)
  await api.close()
})
