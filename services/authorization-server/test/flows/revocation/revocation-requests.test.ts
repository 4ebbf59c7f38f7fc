import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { basic, bodyCredentials, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { createPublicClient, disable, isActive, obtainTokens, type Tokens } from '../../support/tokens.js'

const FORM = 'application/x-www-form-urlencoded'

let server: TestServer
let shaky: TestServer
let proxy: PostgresProxy
let client: Credentials
let publicClient: Credentials
let resourceServer: Credentials
let tokens: Tokens

beforeAll(async () => {
  server = await startTestServer()
  proxy = await startPostgresProxy(server.config.databaseUrl)
  shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  publicClient = await createPublicClient(server)
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  tokens = await obtainTokens(server, client)
})
afterEach(() => proxy.repair())
afterAll(async () => {
  await shaky.close()
  await proxy.close()
  await server.close()
})

const send = (payload: string, headers: Record<string, string> = { 'content-type': FORM }) =>
  server.publicServer.inject({ method: 'POST', url: '/oauth/revoke', headers, payload })

const encode = (form: Record<string, string>) => new URLSearchParams(form).toString()

async function expectAlive(): Promise<void> {
  expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
  expect((await refresh(server, client, tokens.refresh_token)).statusCode).toBe(200)
}

function expectRefusal(answer: Awaited<ReturnType<typeof send>>, status: number, error: string): void {
  expect([answer.statusCode, answer.json()]).toEqual([
    status,
    {
      error,
      error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
      error_uri: `${ISSUER}/errors/${error}`
    }
  ])
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
}

describe('revocation: malformed request (RFC 7009 §2.2.1, RFC 6749 §5.2)', () => {
  test.each<{ name: string; payload(): string }>([
    { name: 'no token', payload: () => encode(bodyCredentials(client)) },
    { name: 'an empty token', payload: () => encode({ token: '', ...bodyCredentials(client) }) },
    {
      name: 'two tokens',
      payload: () => `token=${tokens.access_token}&token=${tokens.refresh_token}&${encode(bodyCredentials(client))}`
    },
    {
      name: 'the same token twice',
      payload: () => `token=${tokens.refresh_token}&token=${tokens.refresh_token}&${encode(bodyCredentials(client))}`
    },
    {
      name: 'two hints',
      payload: () =>
        `token=${tokens.refresh_token}&token_type_hint=a&token_type_hint=b&${encode(bodyCredentials(client))}`
    },
    { name: 'a token with an invalid percent-encoding', payload: () => `token=%zz&${encode(bodyCredentials(client))}` },
    { name: 'a token with a NUL', payload: () => `token=vk%00&${encode(bodyCredentials(client))}` },
    {
      name: 'a hint with an invalid percent-encoding',
      payload: () => `token=${tokens.refresh_token}&token_type_hint=%ff&${encode(bodyCredentials(client))}`
    },
    {
      name: 'two client ids',
      payload: () => `token=${tokens.refresh_token}&client_id=x&${encode(bodyCredentials(client))}`
    }
  ])('$name: invalid_request, and the tokens stay active', async ({ payload }) => {
    expectRefusal(await send(payload()), 400, 'invalid_request')
    await expectAlive()
  })

  test.each(['token', 'token_type_hint'])('a repeated %s is described as repeated, not as missing', async (name) => {
    const answer = await send(`token=a&${name}=b&${name}=c&${encode(bodyCredentials(client))}`)
    expect(answer.json().error_description).toBe(`The parameter ${name} is repeated or malformed.`)
  })

  test.each([
    { name: 'JSON', type: 'application/json' },
    { name: 'plain text', type: 'text/plain' },
    { name: 'multipart', type: 'multipart/form-data; boundary=x' },
    { name: 'no content type', type: undefined }
  ])('$name: invalid_request, with every kind of client authentication', async ({ type }) => {
    const payload = type === 'application/json' ? JSON.stringify({ token: tokens.refresh_token }) : 'token=x'
    const headers = { ...basic(client), ...(type !== undefined && { 'content-type': type }) }
    expectRefusal(await send(payload, headers), 400, 'invalid_request')
    await expectAlive()
  })

  test.each([`${FORM}; charset=UTF-8`, `${FORM};charset=utf-8`, FORM.toUpperCase()])(
    'the content type "%s" is accepted',
    async (type) => {
      const payload = encode({ token: tokens.access_token, ...bodyCredentials(client) })
      expect((await send(payload, { 'content-type': type })).statusCode).toBe(200)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
    }
  )

  test('a token in the query is ignored, and so are credentials', async () => {
    const url = `/oauth/revoke?${encode({ token: tokens.refresh_token, ...bodyCredentials(client) })}`
    expectRefusal(await post(server, url, bodyCredentials(client)), 400, 'invalid_request')
    expectRefusal(await post(server, url, { token: tokens.refresh_token }), 401, 'invalid_client')
    await expectAlive()
  })

  test('a body over 16 KiB: 413', async () => {
    const payload = encode({ token: 'x'.repeat(17_000), ...bodyCredentials(client) })
    expectRefusal(await send(payload), 413, 'invalid_request')
  })
})

describe('revocation: failed client authentication (RFC 7009 §2.1, RFC 6749 §5.2)', () => {
  test.each<{ name: string; form(): Record<string, string> }>([
    { name: 'a wrong secret', form: () => ({ client_id: client.clientId, client_secret: 'wrong' }) },
    { name: 'no secret', form: () => ({ client_id: client.clientId }) },
    { name: 'an unknown client', form: () => ({ client_id: 'unknown', client_secret: 'x' }) },
    { name: 'no credentials', form: () => ({}) },
    { name: 'a public client with a secret', form: () => ({ client_id: publicClient.clientId, client_secret: 'x' }) },
    { name: 'a resource server', form: () => bodyCredentials(resourceServer) }
  ])('$name: 401 without a challenge, and the tokens stay active', async ({ form }) => {
    const answer = await post(server, '/oauth/revoke', { token: tokens.refresh_token, ...form() })
    expectRefusal(answer, 401, 'invalid_client')
    expect(answer.headers).not.toHaveProperty('www-authenticate')
    await expectAlive()
  })

  test.each<{ name: string; authorization(): string }>([
    {
      name: 'a wrong secret',
      authorization: () => basic({ ...client, clientSecret: 'wrong' }).authorization ?? ''
    },
    { name: 'an unknown client', authorization: () => basic({ clientId: 'x', clientSecret: 'y' }).authorization ?? '' },
    { name: 'Basic credentials that are not base64', authorization: () => 'Basic ???' },
    { name: 'its own access token as Bearer', authorization: () => `Bearer ${tokens.access_token}` }
  ])('$name in the header: 401 with the Basic challenge', async ({ authorization }) => {
    const form = { token: tokens.refresh_token }
    const answer = await post(server, '/oauth/revoke', form, { authorization: authorization() })
    expectRefusal(answer, 401, 'invalid_client')
    expect(answer.headers['www-authenticate']).toBe('Basic realm="valetkey", charset="UTF-8"')
    await expectAlive()
  })

  test('credentials in header and body: invalid_request', async () => {
    const form = { token: tokens.refresh_token, ...bodyCredentials(client) }
    expectRefusal(await post(server, '/oauth/revoke', form, basic(client)), 400, 'invalid_request')
    await expectAlive()
  })

  test('a disabled client: 401', async () => {
    const gone = await server.createClient()
    await disable(server, 'client', gone.clientId)
    const answer = await post(server, '/oauth/revoke', { token: 'x', ...bodyCredentials(gone) })
    expectRefusal(answer, 401, 'invalid_client')
  })
})

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const)('%s is 405 with Allow: POST', async (method) => {
  const answer = await server.publicServer.inject({ method, url: '/oauth/revoke' })
  expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
  if (method !== 'HEAD') expect(answer.json().error).toBe('invalid_request')
})

describe('revocation while Postgres is unavailable (RFC 7009 §2.2.1)', () => {
  const revoke = (kind: 'access_token' | 'refresh_token') =>
    post(shaky, '/oauth/revoke', { token: tokens[kind], ...bodyCredentials(client) })

  test.each(['access_token', 'refresh_token'] as const)(
    '%s: 503 with Retry-After, and the token stays active',
    async (kind) => {
      proxy.cut()
      const answer = await revoke(kind)
      expectRefusal(answer, 503, 'temporarily_unavailable')
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      await expectAlive()
    }
  )

  test.each([
    { kind: 'access_token', statement: 'revoke_access_token' },
    { kind: 'refresh_token', statement: 'end_grant_of_refresh_token' }
  ] as const)('$kind, only the last answer lost: 503, and the retry is 200', async ({ kind, statement }) => {
    proxy.loseAnswerTo(statement)
    expectRefusal(await revoke(kind), 503, 'temporarily_unavailable')
    expect((await revoke(kind)).statusCode).toBe(200)
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
  })
})
