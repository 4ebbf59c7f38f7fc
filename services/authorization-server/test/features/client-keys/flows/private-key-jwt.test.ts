import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { REDIRECT_URI, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { auditOf } from '../../../support/codes.js'
import { basic, obtainCode, PASSWORD, post } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { isActive } from '../../../support/tokens.js'
import {
  type AssertionChange,
  assertionForm,
  createClientWithKeys,
  createSigningKey,
  type SigningKey,
  withKeys
} from '../support/assertions.js'

let server: TestServer
let key: SigningKey
let otherKey: SigningKey
let client: { clientId: string; clientSecret: string }

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  await server.createUser('alice', PASSWORD)
  key = await createSigningKey()
  otherKey = await createSigningKey()
})
afterAll(() => server.close())
beforeEach(async () => {
  client = await createClientWithKeys(server, key)
})

const codeForm = (code: string) => ({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI })

async function exchangeWith(change: AssertionChange = {}, signer = key, form: Record<string, string> = {}) {
  const code = await obtainCode(server, client)
  const credentials = await assertionForm(signer, client.clientId, change)
  return post(server, '/token', { ...codeForm(code), ...credentials, ...form })
}

/** The authentication fails before the code is read, so none is needed. */
async function failWith(change: AssertionChange = {}, signer = key) {
  return post(server, '/token', { ...codeForm('x'), ...(await assertionForm(signer, client.clientId, change)) })
}

async function tokens() {
  const response = await exchangeWith()
  expect(response.statusCode).toBe(200)
  return response.json<{ access_token: string; refresh_token: string }>()
}

describe('a client with a key (RFC 7523 §2.2)', () => {
  test('exchanges codes, refreshes and revokes, each with its own assertion', async () => {
    const { refresh_token } = await tokens()
    const refreshing = { grant_type: 'refresh_token', refresh_token }
    const refreshed = await post(server, '/token', { ...refreshing, ...(await assertionForm(key, client.clientId)) })
    expect(refreshed.statusCode).toBe(200)
    const token = refreshed.json<{ access_token: string }>().access_token
    const revoked = await post(server, '/oauth/revoke', { token, ...(await assertionForm(key, client.clientId)) })
    expect(revoked.statusCode).toBe(200)
    expect(await isActive(server, await server.createResourceServer(), token)).toBe(false)
  })

  test.each(['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519'])('may sign with %s', async (algorithm) => {
    const signer = await createSigningKey(algorithm)
    client = await createClientWithKeys(server, signer)
    expect((await exchangeWith({}, signer)).statusCode).toBe(200)
  })

  test('may send its id beside the assertion', async () => {
    expect((await exchangeWith({}, key, { client_id: client.clientId })).statusCode).toBe(200)
  })

  test('uses each of its keys', async () => {
    client = await createClientWithKeys(server, otherKey, key)
    expect((await exchangeWith({}, key)).statusCode).toBe(200)
    expect((await exchangeWith({}, otherKey)).statusCode).toBe(200)
    expect((await exchangeWith({ header: { kid: undefined } }, key)).statusCode).toBe(200)
  })

  test('is refused with the secret that it had, and with its id alone', async () => {
    const code = await obtainCode(server, client)
    const bySecret = await post(server, '/token', codeForm(code), basic(client))
    expect(bySecret.statusCode).toBe(401)
    expect(await auditOf(server, bySecret)).toEqual([
      { event: 'request_refused', reason: 'wrong_authentication_method' }
    ])
    const byId = await post(server, '/token', { ...codeForm(code), client_id: client.clientId })
    expect(byId.statusCode).toBe(401)
    expect(await auditOf(server, byId)).toEqual([{ event: 'request_refused', reason: 'wrong_authentication_method' }])
    const byKey = await post(server, '/token', { ...codeForm(code), ...(await assertionForm(key, client.clientId)) })
    expect(byKey.statusCode).toBe(200)
  })

  test('is refused from the moment in which its key is deleted', async () => {
    expect((await failWith()).json()).toMatchObject({ error: 'invalid_grant' })
    await server.database.query({
      name: 'test_delete_keys',
      text: 'delete from client_keys where client_id = $1',
      values: [client.clientId]
    })
    await expectUntil(async () => (await failWith()).json<{ error: string }>().error, 'invalid_client')
  })
})

describe('an assertion that is refused', () => {
  test.each<AssertionChange & { name: string; reason: string; signer?: () => SigningKey }>([
    {
      name: 'the signature of another key',
      signer: () => ({ ...otherKey, jwk: key.jwk }),
      reason: 'assertion_signature'
    },
    { name: 'an unknown key', signer: () => otherKey, reason: 'assertion_unknown_key' },
    {
      name: 'the token endpoint as audience',
      payload: { aud: 'http://localhost:4000/token' },
      reason: 'assertion_audience'
    },
    { name: 'no jti', payload: { jti: undefined }, reason: 'assertion_jti' },
    { name: 'an exp that passed', payload: { exp: 1 }, reason: 'assertion_expired' },
    { name: 'the typ of a proof', header: { typ: 'dpop+jwt' }, reason: 'assertion_typ' }
  ])('for $name is invalid_client, with its reason in the audit record', async ({ reason, signer, ...change }) => {
    const response = await failWith(change, signer?.())
    expect(response.statusCode).toBe(401)
    expect(response.headers).not.toHaveProperty('www-authenticate')
    expect(response.json()).toMatchObject({
      error: 'invalid_client',
      error_description: expect.stringContaining('jti')
    })
    expect(await auditOf(server, response)).toEqual([{ event: 'request_refused', reason }])
  })

  test('gets the same description whatever is wrong', async () => {
    const descriptions = await Promise.all(
      [{ payload: { jti: undefined } }, { payload: { aud: 'x' } }, { payload: { exp: 1 } }].map(
        async (change) => (await failWith(change)).json<{ error_description: string }>().error_description
      )
    )
    expect(new Set(descriptions).size).toBe(1)
  })

  test('is no assertion of a client that has a secret', async () => {
    client = await server.createClient()
    const response = await failWith()
    expect(response.statusCode).toBe(401)
    expect(await auditOf(server, response)).toEqual([
      { event: 'request_refused', reason: 'wrong_authentication_method' }
    ])
  })

  test('beside another credential is invalid_request', async () => {
    const form = { ...codeForm('x'), ...(await assertionForm(key, client.clientId)) }
    for (const response of [
      await post(server, '/token', form, basic(client)),
      await post(server, '/token', { ...form, client_secret: 'x' })
    ]) {
      expect(response.statusCode).toBe(400)
      expect(response.json()).toMatchObject({ error: 'invalid_request' })
    }
  })

  test('never falls back to the id of a client that works with and without a key', async () => {
    const both = { ...withKeys(key), privateKeyJwt: 'allowed', type: 'public', requiresPkce: true } as const
    client = await server.createClient(both)
    expect((await failWith({ payload: { exp: 1 } })).json()).toMatchObject({ error: 'invalid_client' })
    const typeOnly = { client_id: client.clientId, client_assertion_type: 'x' }
    expect((await post(server, '/token', { ...codeForm('x'), ...typeOnly })).statusCode).toBe(400)
    const withIdOnly = await post(server, '/token', { ...codeForm('x'), client_id: client.clientId })
    expect(withIdOnly.json()).not.toMatchObject({ error: 'invalid_client' })
    expect((await failWith()).json()).not.toMatchObject({ error: 'invalid_client' })
  })

  test('counts in the limit of failed client authentications', async () => {
    const limited = await startInstance(server, { config: { limitsFactor: 0.02 } })
    try {
      const failing = { ...codeForm('x'), ...(await assertionForm(otherKey, client.clientId)) }
      const statuses: number[] = []
      for (let count = 0; count < 4; count++) statuses.push((await post(limited, '/token', failing)).statusCode)
      expect(statuses).toContain(429)
      // Failures of others never cause valid credentials to be refused.
      const good = { ...codeForm('x'), ...(await assertionForm(key, client.clientId)) }
      expect((await post(limited, '/token', good)).json()).toMatchObject({ error: 'invalid_grant' })
    } finally {
      await limited.close()
    }
  })
})

describe('the jti of an assertion (RFC 7523 §3)', () => {
  test('is used once, at all endpoints together', async () => {
    const { access_token: token } = await tokens()
    const credentials = await assertionForm(key, client.clientId)
    expect((await post(server, '/oauth/revoke', { token, ...credentials })).statusCode).toBe(200)
    const again = await post(server, '/token', { ...codeForm('x'), ...credentials })
    expect(again.statusCode).toBe(401)
    expect(await auditOf(server, again)).toEqual([{ event: 'request_refused', reason: 'assertion_used' }])
  })

  test('is not used up by an assertion with another signature, nor by that of another client', async () => {
    const jti = randomUUID()
    await failWith({ payload: { jti } }, { ...otherKey, jwk: key.jwk })
    const first = client
    client = await createClientWithKeys(server, otherKey)
    expect((await failWith({ payload: { jti } }, otherKey)).json()).toMatchObject({ error: 'invalid_grant' })
    client = first
    expect((await exchangeWith({ payload: { jti } })).statusCode).toBe(200)
  })

  test('is accepted once when two processes get it at the same moment', async () => {
    const other = await startInstance(server)
    try {
      for (let round = 0; round < 20; round++) {
        const form = { token: 'x', ...(await assertionForm(key, client.clientId)) }
        const statuses = await Promise.all(
          [server, other, server, other].map((one) => post(one, '/oauth/revoke', form))
        )
        expect(statuses.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401, 401, 401])
      }
    } finally {
      await other.close()
    }
  })

  test('is remembered until the assertion has expired, with the tolerance', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 3_600
    await failWith({ payload: { jti: 'remembered', exp } })
    const ttls = await Promise.all((await server.redis.keys('vk:assertion:*')).map((name) => server.redis.pttl(name)))
    const longest = Math.max(...ttls)
    expect(longest).toBeGreaterThan(3_600_000)
    expect(longest).toBeLessThanOrEqual(3_630_000)
  })
})

async function expectUntil<Value>(read: () => Promise<Value>, expected: Value): Promise<void> {
  while ((await read()) !== expected);
}
