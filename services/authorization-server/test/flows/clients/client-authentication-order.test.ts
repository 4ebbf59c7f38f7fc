import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import type { Statement } from '@valetkey/service-kit'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { isBackground } from '../../support/background-statements.js'
import { grantOf, kindOf, PKCE, unknownCode, VERIFIER } from '../../support/codes.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD, post } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { expectRefusal } from '../../support/refusals.js'
import { createPublicClient, disable, enable, isActive, pairOf } from '../../support/tokens.js'

let server: TestServer
/** Notes the names of its statements. */
let watched: TestServer
let statements: string[]
let client: Credentials
let code: string

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  watched = await startInstance(server, {
    wrap: (database) => ({
      ...database,
      query(statement: Statement) {
        if (!isBackground(statement.name)) statements.push(statement.name)
        return database.query(statement)
      }
    })
  })
  await server.createUser('alice', PASSWORD)
})
beforeEach(async () => {
  client = await server.createClient()
  code = await obtainCode(server, client)
  statements = []
})
afterAll(async () => {
  await watched.close()
  await server.close()
})

const SECRET = 'vk_cs_a-secret-that-an-operator-made'

async function addSecret(secret: string, expiresIn: number | undefined): Promise<void> {
  await server.database.query({
    name: 'test_add_secret',
    text: `insert into client_secrets (client_id, secret_hash, created_at, expires_at)
      values ($1, $2, now(), now() + make_interval(secs => $3))`,
    values: [client.clientId, hashToken(secret), expiresIn]
  })
}

describe('client with several secrets (contract 2, "Client authentication")', () => {
  const exchangeWith = (clientSecret: string) => exchange(server, { ...client, clientSecret }, code)

  test.each(['the first', 'the second'])('both live secrets are valid: %s', async (which) => {
    await addSecret(SECRET, 60)
    expect(kindOf(await exchangeWith(which === 'the first' ? client.clientSecret : SECRET))).toBe('200')
  })

  test('an expired secret is refused, and the other is valid', async () => {
    await addSecret(SECRET, -1)
    expectRefusal(await exchangeWith(SECRET), 401, 'invalid_client')
    expect(kindOf(await exchangeWith(client.clientSecret))).toBe('200')
  })

  test('two live secrets and an expired one', async () => {
    await addSecret(SECRET, undefined)
    await addSecret(`${SECRET}-old`, -3600)
    expectRefusal(await exchangeWith(`${SECRET}-old`), 401, 'invalid_client')
    expect(kindOf(await exchangeWith(SECRET))).toBe('200')
  })

  test('no live secret: invalid_client', async () => {
    await server.database.query({
      name: 'test_expire_secrets',
      text: `update client_secrets set expires_at = now() - interval '1 second' where client_id = $1`,
      values: [client.clientId]
    })
    expectRefusal(await exchangeWith(client.clientSecret), 401, 'invalid_client')
  })
})

describe('client type and state', () => {
  test('a disabled client is refused like an unknown one; when enabled, it is valid, and earlier codes have ended', async () => {
    await disable(server, 'client', client.clientId)
    expectRefusal(await exchange(server, client, code), 401, 'invalid_client', 'Client authentication failed.')
    await enable(server, 'client', client.clientId)
    expectRefusal(await exchange(server, client, code), 400, 'invalid_grant')
  })

  test.each([
    { name: 'its id alone', form: (id: string) => ({ client_id: id }), headers: () => ({}), kind: '200' },
    {
      name: 'its id and an empty secret',
      form: (id: string) => ({ client_id: id, client_secret: '' }),
      headers: () => ({}),
      kind: '200'
    },
    {
      name: 'Basic with an empty secret',
      form: () => ({}),
      headers: (id: string) => basic({ clientId: id, clientSecret: '' }),
      kind: '200'
    },
    {
      name: 'a secret',
      form: (id: string) => ({ client_id: id, client_secret: SECRET }),
      headers: () => ({}),
      kind: '401 invalid_client'
    },
    {
      name: 'a secret in Basic',
      form: () => ({}),
      headers: (id: string) => basic({ clientId: id, clientSecret: SECRET }),
      kind: '401 invalid_client'
    }
  ])('a public client with $name: $kind (RFC 6749 §2.1)', async ({ form, headers, kind }) => {
    const { clientId } = await createPublicClient(server)
    const own = await obtainCode(server, { clientId, clientSecret: '' }, { change: PKCE })
    const right = { grant_type: 'authorization_code', code: own, redirect_uri: 'https://app.example/callback' }
    const answer = await post(
      server,
      '/token',
      { ...right, code_verifier: VERIFIER, ...form(clientId) },
      headers(clientId)
    )
    expect(kindOf(answer)).toBe(kind)
  })
})

/** The response without `date` and `x-request-id`. */
function lasting(answer: LightMyRequestResponse) {
  const { date: _, 'x-request-id': __, ...headers } = answer.headers
  return { status: answer.statusCode, headers, body: answer.body }
}

describe('the response is the same for every authentication failure', () => {
  test.each([
    { how: 'in the body', send: (wrong: Credentials) => exchange(watched, wrong, code) },
    {
      how: 'in the header',
      send: (wrong: Credentials) => post(watched, '/token', { grant_type: 'authorization_code', code }, basic(wrong))
    }
  ])('$how: status, headers, body and statements are the same', async ({ send }) => {
    const disabled = await server.createClient()
    await disable(server, 'client', disabled.clientId)
    const wrongs: Credentials[] = [
      { ...client, clientSecret: SECRET },
      { clientId: `client_${randomUUID()}`, clientSecret: client.clientSecret },
      { ...client, clientSecret: '' },
      disabled,
      { ...(await createPublicClient(server)), clientSecret: SECRET }
    ]
    const seen = []
    for (const wrong of wrongs) {
      statements = []
      seen.push({ ...lasting(await send(wrong)), statements })
    }
    for (const each of seen) expect(each).toEqual(seen[0])
    expect(seen[0]).toMatchObject({ status: 401, statements: ['find_client_with_secrets'] })
  })
})

describe('the order of checks: form, client, grant type, parameters, code', () => {
  const wrong = { client_secret: 'wrong' }
  test.each<{ name: string; change: Record<string, string>; kind: string; statements: string[] }>([
    { name: 'a wrong client with an unknown grant type', change: { ...wrong, grant_type: 'password' }, ...client401() },
    { name: 'a wrong client without a code', change: { ...wrong, code: '' }, ...client401() },
    { name: 'a wrong client with an unknown code', change: { ...wrong, code: unknownCode() }, ...client401() },
    { name: 'a wrong client with a malformed code', change: { ...wrong, code: 'x' }, ...client401() },
    { name: 'a wrong client with a right code', change: wrong, ...client401() },
    {
      name: 'an unknown grant type without a code',
      change: { grant_type: 'x', code: '' },
      ...right('unsupported_grant_type')
    },
    {
      name: 'no redirect_uri with a malformed code',
      change: { redirect_uri: '', code: 'x' },
      ...right('invalid_request')
    },
    {
      name: 'a malformed verifier with a malformed code',
      change: { code_verifier: 'x', code: 'x' },
      ...right('invalid_grant')
    },
    { name: 'a malformed code with another resource', change: { resource: 'x', code: 'x' }, ...right('invalid_grant') }
  ])('$name: $kind', async ({ change, kind, statements: expected }) => {
    expect(kindOf(await exchange(watched, client, code, change))).toBe(kind)
    expect(statements).toEqual(expected)
    expect(kindOf(await exchange(server, client, code))).toBe('200')
  })

  function client401() {
    return { kind: '401 invalid_client', statements: ['find_client_with_secrets'] }
  }
  function right(error: string) {
    return { kind: `400 ${error}`, statements: ['find_client_with_secrets'] }
  }

  test('a failed authentication with a used code: 401, and the tokens stay active', async () => {
    const resourceServer = await server.createResourceServer()
    const { access_token } = pairOf(await exchange(server, client, code))
    expectRefusal(await exchange(server, client, code, wrong), 401, 'invalid_client')
    expectRefusal(await post(server, '/token', { ...bodyCredentials(client), ...wrong, code }), 401, 'invalid_client')
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
    expect(await grantOf(server, code)).toMatchObject({ redeemed: true, ended: false })
  })
})
