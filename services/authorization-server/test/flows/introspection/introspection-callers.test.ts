import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { basic, bodyCredentials, introspect, PASSWORD } from '../../support/flow.js'
import { createPublicClient, obtainTokens, type Tokens } from '../../support/tokens.js'

const FORM = 'application/x-www-form-urlencoded'

let server: TestServer
let client: Credentials
let publicClient: Credentials
let resourceServer: Credentials
let tokens: Tokens

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  publicClient = await createPublicClient(server)
  resourceServer = await server.createResourceServer()
  tokens = await obtainTokens(server, client)
})
afterAll(() => server.close())

const send = (payload: string, headers: Record<string, string> = {}) =>
  server.internalServer.inject({
    method: 'POST',
    url: '/introspect',
    headers: { 'content-type': FORM, ...headers },
    payload
  })

const tokenForm = () => `token=${tokens.access_token}`

function expectRefusal(answer: Awaited<ReturnType<typeof send>>, status: number, error: string): void {
  expect([answer.statusCode, answer.json()]).toEqual([
    status,
    { error, error_description: expect.any(String), error_uri: `${ISSUER}/errors/${error}` }
  ])
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.body).not.toContain('active')
}

describe('introspection: authentication (RFC 7662 §2.1)', () => {
  test('a resource server with Basic: accepted', async () => {
    expect((await send(tokenForm(), basic(resourceServer))).json()).toMatchObject({ active: true })
  })

  test('two credentials of one audience introspect the same token, each with its own secret', async () => {
    const second = await server.createResourceServer()
    const answers = await Promise.all([resourceServer, second].map((by) => introspect(server, by, tokens.access_token)))
    expect(answers[0]?.json()).toEqual(answers[1]?.json())
    const mixed = { clientId: resourceServer.clientId, clientSecret: second.clientSecret }
    expectRefusal(await send(tokenForm(), basic(mixed)), 401, 'invalid_client')
  })

  test.each<{ name: string; by(): Credentials }>([
    { name: 'a wrong secret', by: () => ({ ...resourceServer, clientSecret: 'wrong' }) },
    { name: 'an empty secret', by: () => ({ ...resourceServer, clientSecret: '' }) },
    {
      name: 'a secret with one more character',
      by: () => ({ ...resourceServer, clientSecret: `${resourceServer.clientSecret}0` })
    },
    {
      name: 'an id in other letter case',
      by: () => ({ ...resourceServer, clientId: resourceServer.clientId.toUpperCase() })
    },
    { name: 'an unknown id', by: () => ({ clientId: 'rs_unknown', clientSecret: 'x' }) },
    { name: 'an id that no registration can have', by: () => ({ clientId: 'rs unknown', clientSecret: 'x' }) },
    { name: 'the client that owns the token', by: () => client },
    { name: 'a public client', by: () => publicClient },
    {
      name: 'the id of a third-party client with a valid secret',
      by: () => ({ ...resourceServer, clientId: client.clientId })
    }
  ])('$name: 401 with a challenge', async ({ by }) => {
    const answer = await send(tokenForm(), basic(by()))
    expectRefusal(answer, 401, 'invalid_client')
    expect(answer.headers['www-authenticate']).toBe('Basic realm="valetkey", charset="UTF-8"')
  })

  test.each<{ name: string; form(): Record<string, string>; headers(): Record<string, string> }>([
    { name: 'no credentials', form: () => ({}), headers: () => ({}) },
    { name: 'only an id in the body', form: () => ({ client_id: resourceServer.clientId }), headers: () => ({}) },
    { name: 'a third-party client in the body', form: () => bodyCredentials(client), headers: () => ({}) },
    {
      name: 'the token itself as Bearer',
      form: () => ({}),
      headers: () => ({ authorization: `Bearer ${tokens.access_token}` })
    },
    { name: 'Basic credentials that are not base64', form: () => ({}), headers: () => ({ authorization: 'Basic ???' }) }
  ])('$name: 401 with a challenge', async ({ form, headers }) => {
    const answer = await send(`${tokenForm()}&${new URLSearchParams(form())}`, headers())
    expectRefusal(answer, 401, 'invalid_client')
    expect(answer.headers['www-authenticate']).toMatch(/^Basic /)
  })

  test('two authentication methods: invalid_request', async () => {
    const form = new URLSearchParams(bodyCredentials(resourceServer))
    expectRefusal(await send(`${tokenForm()}&${form}`, basic(resourceServer)), 400, 'invalid_request')
  })

  test('an unknown id and a wrong secret get the same response', async () => {
    const wrong = await send(tokenForm(), basic({ ...resourceServer, clientSecret: 'wrong' }))
    const unknown = await send(tokenForm(), basic({ clientId: 'rs_unknown', clientSecret: 'wrong' }))
    expect(wrong.body).toBe(unknown.body)
  })
})

describe('introspection: request (RFC 7662 §2.1)', () => {
  test.each<{ name: string; payload(): string }>([
    { name: 'no token', payload: () => 'token_type_hint=access_token' },
    { name: 'an empty token', payload: () => 'token=' },
    { name: 'an empty body', payload: () => '' },
    { name: 'a token twice', payload: () => `${tokenForm()}&${tokenForm()}` }
  ])('$name is invalid_request', async ({ payload }) => {
    expectRefusal(await send(payload(), basic(resourceServer)), 400, 'invalid_request')
  })

  test('a repeated token is described as repeated, not as missing', async () => {
    const answer = await send(`${tokenForm()}&${tokenForm()}`, basic(resourceServer))
    expect(answer.json().error_description).toBe('The parameter token must be sent once.')
  })

  test.each(['access_token', 'refresh_token', 'code', 'urn:unknown', ''])(
    'the hint "%s" does not change the result',
    async (hint) => {
      const form = `${tokenForm()}&token_type_hint=${hint}`
      expect((await send(form, basic(resourceServer))).json()).toMatchObject({ active: true })
      const refreshForm = `token=${tokens.refresh_token}&token_type_hint=${hint}`
      expect((await send(refreshForm, basic(resourceServer))).body).toBe('{"active":false}')
    }
  )

  test.each(['application/json', 'text/plain'])('content type %s: invalid_request', async (type) => {
    const payload = JSON.stringify({ token: tokens.access_token })
    expectRefusal(await send(payload, { ...basic(resourceServer), 'content-type': type }), 400, 'invalid_request')
  })

  test('a token in the query is ignored', async () => {
    const answer = await server.internalServer.inject({
      method: 'POST',
      url: `/introspect?${tokenForm()}`,
      headers: basic(resourceServer)
    })
    expectRefusal(answer, 400, 'invalid_request')
  })

  test.each(['GET', 'PUT', 'PATCH', 'DELETE'] as const)('%s is 405 with Allow: POST', async (method) => {
    const url = `/introspect?${tokenForm()}`
    const answer = await server.internalServer.inject({ method, url, headers: basic(resourceServer) })
    expect([answer.statusCode, answer.headers.allow, answer.json().error]).toEqual([405, 'POST', 'invalid_request'])
  })
})

describe('introspection: listeners (contract 1)', () => {
  test.each(['publicServer', 'operatorServer'] as const)(
    'not on the %s: 404, also with valid credentials',
    async (at) => {
      const answer = await server[at].inject({
        method: 'POST',
        url: '/introspect',
        headers: { 'content-type': FORM, ...basic(resourceServer) },
        payload: tokenForm()
      })
      expect(answer.statusCode).toBe(404)
      expect(answer.body).not.toContain('active')
    }
  )

  test.each(['/token', '/oauth/revoke', '/oauth/authorize', '/.well-known/oauth-authorization-server', '/login'])(
    '%s is not on the internal listener',
    async (url) => {
      for (const method of ['GET', 'POST'] as const) {
        expect((await server.internalServer.inject({ method, url })).statusCode).toBe(404)
      }
    }
  )
})
