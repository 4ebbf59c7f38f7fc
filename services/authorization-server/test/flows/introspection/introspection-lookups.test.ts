import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { expiryBucket, newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { basic, introspect, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { isActive, obtainTokens, type Tokens } from '../../support/tokens.js'

let server: TestServer
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('lookups', () => {
  let shaky: TestServer
  let proxy: PostgresProxy
  let tokens: Tokens

  beforeAll(async () => {
    proxy = await startPostgresProxy(server.config.databaseUrl)
    shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
    tokens = await obtainTokens(server, await server.createClient())
  })
  afterEach(() => proxy.repair())
  afterAll(async () => {
    await shaky.close()
    await proxy.close()
  })

  const A_TOKEN = [expect.stringMatching(/^find_for_introspection_in_access_tokens_\d+$/)]

  describe('lookups of an introspection request (contract 2, "Tokens")', () => {
    test.each<{ name: string; by(): Credentials; value(): string; looks: unknown[] }>([
      {
        name: 'a malformed client id: no lookup',
        by: () => ({ clientId: 'rs unknown', clientSecret: 'x' }),
        value: () => tokens.access_token,
        looks: []
      },
      {
        name: 'a caller with a wrong secret: no lookup of the token',
        by: () => ({ ...resourceServer, clientSecret: 'wrong' }),
        value: () => tokens.access_token,
        looks: []
      },
      {
        name: 'an unknown client id: no lookup of the token',
        by: () => ({ ...resourceServer, clientId: 'rs_unknown' }),
        value: () => tokens.access_token,
        looks: []
      },
      {
        name: 'a token with a wrong checksum: no lookup',
        by: () => resourceServer,
        value: () => tokens.access_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        looks: []
      },
      {
        name: 'a refresh token: no lookup',
        by: () => resourceServer,
        value: () => tokens.refresh_token,
        looks: []
      },
      {
        name: 'an active token: one lookup',
        by: () => resourceServer,
        value: () => tokens.access_token,
        looks: A_TOKEN
      }
    ])('$name', async ({ by, value, looks }) => {
      const asked: unknown[] = []
      const instance = await startInstance(server, {
        wrap: (database) => ({
          ...database,
          query(statement) {
            if (statement.name !== 'find_resource_server') asked.push(statement.name)
            return database.query(statement)
          }
        })
      })
      await introspect(instance, by(), value())
      expect(asked).toEqual(looks)
      await instance.close()
    })
  })

  describe('introspection while Postgres is unavailable', () => {
    test('503 with Retry-After, never {"active":false}', async () => {
      proxy.cut()
      const answer = await introspect(shaky, resourceServer, tokens.access_token)
      expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
      expect(answer.body).not.toContain('active')
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      proxy.repair()
      expect(await isActive(shaky, resourceServer, tokens.access_token)).toBe(true)
    })

    test('the lookup statement is lost: 503', async () => {
      proxy.loseStatement('find_for_introspection')
      const answer = await introspect(shaky, resourceServer, tokens.access_token)
      expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
      expect(answer.body).not.toContain('active')
      expect(await isActive(shaky, resourceServer, tokens.access_token)).toBe(true)
    })
  })
})

describe('several tokens in one request', () => {
  let tokens: string[]

  beforeAll(async () => {
    const client = await server.createClient()
    tokens = []
    for (let count = 0; count < 3; count++) tokens.push((await obtainTokens(server, client)).access_token)
  })

  const send = (payload: string, headers: Record<string, string> = basic(resourceServer)) =>
    server.internalServer.inject({
      method: 'POST',
      url: '/introspections',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload
    })

  test('several tokens in one request: the same results as in single requests, in order', async () => {
    const never = newOpaqueAccessToken(expiryBucket(new Date(Date.now() + 60_000)), randomBytes)
    const asked = [tokens[0], never, tokens[1], 'nonsense', tokens[2], tokens[0]] as string[]
    const alone = await Promise.all(
      asked.map(async (token) => (await introspect(server, resourceServer, token)).json())
    )
    const answer = await send(`tokens=${asked.join('+')}`)
    expect([answer.statusCode, answer.json()]).toEqual([200, alone])
    expect(alone.map(({ active }) => active)).toEqual([true, false, true, false, true, true])
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
  })

  test('a caller with another audience gets only inactive results', async () => {
    const other = await server.createResourceServer('https://other.example')
    const answer = await send(`tokens=${tokens.join('+')}`, basic(other))
    expect(answer.json()).toEqual(tokens.map(() => ({ active: false })))
  })

  describe('a list request is refused as a whole', () => {
    test.each([
      { name: 'without credentials', payload: 'tokens=a', headers: {}, status: 401, error: 'invalid_client' },
      { name: 'no tokens', payload: 'token=a', status: 400, error: 'invalid_request' },
      { name: 'an empty tokens parameter', payload: 'tokens=', status: 400, error: 'invalid_request' },
      { name: 'two tokens parameters', payload: 'tokens=a&tokens=b', status: 400, error: 'invalid_request' },
      { name: 'an invalid percent-encoding', payload: 'tokens=%zz', status: 400, error: 'invalid_request' },
      { name: '65 tokens', payload: `tokens=${'a+'.repeat(64)}a`, status: 400, error: 'invalid_request' },
      { name: 'more than 16 KiB', payload: `tokens=${'a'.repeat(17_000)}`, status: 413, error: 'invalid_request' }
    ])('$name: $status $error', async ({ payload, headers, status, error }) => {
      const answer = await send(payload, headers ?? basic(resourceServer))
      expect([answer.statusCode, answer.json()]).toEqual([
        status,
        { error, error_description: expect.any(String), error_uri: `${ISSUER}/errors/${error}` }
      ])
    })
  })

  test('lists are accepted only with POST on the internal listener', async () => {
    const get = await server.internalServer.inject('/introspections')
    expect([get.statusCode, get.headers.allow]).toEqual([405, 'POST'])
    const elsewhere = await server.publicServer.inject({ method: 'POST', url: '/introspections' })
    expect(elsewhere.statusCode).toBe(404)
  })
})
