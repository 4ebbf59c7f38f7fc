import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createProofNonces, type NonceSettings } from '@valetkey/oauth-protocol/signed'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { stopClock } from '../../../support/clock.js'
import { auditOf, PKCE, recordOf } from '../../../support/codes.js'
import { basic, PASSWORD, post } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { overTheWire } from '../../../support/over-the-wire.js'
import { expectRefusal } from '../../../support/refusals.js'
import { createPublicClient, isActive, pairOf } from '../../../support/tokens.js'
import { assertionForm, createClientWithKeys, createSigningKey } from '../../client-keys/support/assertions.js'
import { PUSHED_PATH, requestOf } from '../../pushed-requests/support/pushed-requests.js'
import { codeOf, createProver, exchangeForm, type Prover, postWithProof, refreshForm } from '../support/proofs.js'

const NEW_COOKIE_KEY = 'a-new-key-for-tests-of-at-least-32-characters'

// A nonce is the same for a minute of the clock.
const clock = stopClock()

let server: TestServer
let client: Credentials
let publicClient: Credentials
let key: Prover
let code: string

beforeAll(async () => {
  server = await startTestServer({ DPOP: 'allowed', DPOP_NONCES: 'required' })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  publicClient = await createPublicClient(server)
  key = await createProver()
})
afterAll(async () => {
  await server.close()
  clock.restart()
})
beforeEach(async () => {
  code = await codeOf(server, client, server.newBrowser())
})

/** A nonce that a process with these settings makes. @param minutes from now */
function nonceOf(minutes: number, change: Partial<NonceSettings> = {}): string {
  const settings: NonceSettings = { keys: server.config.cookieKeys, role: 'authorization server', server: ISSUER }
  return createProofNonces({ ...settings, ...change }).newest(new Date(clock.now().getTime() + minutes * 60_000))
}

/** Exchanges the code with a proof. */
async function exchange(payload: Record<string, unknown>, at = server): Promise<LightMyRequestResponse> {
  return postWithProof(at, exchangeForm(client, code), await key.prove({ payload }))
}

function expectNonce(answer: LightMyRequestResponse): string {
  expectRefusal(answer, 400, 'use_dpop_nonce')
  expect(answer.headers['dpop-nonce']).toBe(nonceOf(0))
  return String(answer.headers['dpop-nonce'])
}

describe('a proof', () => {
  test('without a nonce gets one, leaves the code unused, and is no refusal for the audit log (RFC 9449 §8)', async () => {
    const refused = await exchange({})
    const nonce = expectNonce(refused)
    expect(await auditOf(server, refused)).toEqual([])
    expect(await recordOf(server, code)).toMatch(/^issued /)
    const accepted = await exchange({ nonce })
    expect(pairOf(accepted)).toBeDefined()
    expect(accepted.headers).not.toHaveProperty('dpop-nonce')
  })

  test.each([-2, -1])(
    'with a nonce of %d minutes is accepted, and its response has the newest one',
    async (minutes) => {
      const accepted = await exchange({ nonce: nonceOf(minutes) })
      expect(accepted.statusCode).toBe(200)
      expect(accepted.headers).toMatchObject({ 'dpop-nonce': nonceOf(0), 'cache-control': 'no-store' })
    }
  )

  test('with the nonce of a process whose clock is ahead is accepted, and its response has no older one', async () => {
    const accepted = await exchange({ nonce: nonceOf(1) })
    expect(accepted.statusCode).toBe(200)
    expect(accepted.headers).not.toHaveProperty('dpop-nonce')
  })

  test.each<{ name: string; nonce: () => string }>([
    { name: 'of three minutes ago', nonce: () => nonceOf(-3) },
    { name: 'of two minutes ahead', nonce: () => nonceOf(2) },
    { name: 'of an API with the same keys', nonce: () => nonceOf(0, { role: 'resource server' }) },
    { name: 'of another issuer with the same keys', nonce: () => nonceOf(0, { server: 'https://other.example' }) },
    { name: 'of other keys', nonce: () => nonceOf(0, { keys: [NEW_COOKIE_KEY] }) },
    { name: 'that was made up', nonce: () => 'x' }
  ])('with a nonce $name gets a new one', async ({ nonce }) => {
    expectNonce(await exchange({ nonce: nonce() }))
  })

  test.each([-86_400, 86_400])('whose clock is %d seconds wrong is accepted with the nonce (§4.3)', async (seconds) => {
    const iat = Math.floor(clock.now().getTime() / 1_000) + seconds
    expectNonce(await exchange({ iat }))
    expect((await exchange({ iat, nonce: nonceOf(0) })).statusCode).toBe(200)
  })

  test.each([
    { name: 'another method', payload: { htm: 'GET' } },
    { name: 'a nonce that is no text', payload: { nonce: 1 } },
    { name: 'no time', payload: { iat: undefined } }
  ])('with $name is wrong, and gets no nonce', async ({ payload }) => {
    const refused = await exchange(payload)
    expectRefusal(refused, 400, 'invalid_dpop_proof')
    expect(refused.headers).not.toHaveProperty('dpop-nonce')
  })

  test('of a client that fails its authentication gets no nonce', async () => {
    const form = exchangeForm({ ...client, clientSecret: 'no' }, code)
    const refused = await postWithProof(server, form, key)
    expectRefusal(refused, 401, 'invalid_client')
    expect(refused.headers).not.toHaveProperty('dpop-nonce')
  })
})

test('a response has one header with a nonce, which apps of other origins can read', async () => {
  const send = await overTheWire(server.publicServer)
  const headers = {
    origin: 'https://app.example',
    'content-type': 'application/x-www-form-urlencoded',
    dpop: await key.prove()
  }
  const body = new URLSearchParams(exchangeForm(client, code)).toString()
  const refused = await send('/token', { method: 'POST', headers, body })
  // Node joins repeated headers by a comma.
  expect(refused.headers['dpop-nonce']).toBe(nonceOf(0))
  expect(refused.headers['access-control-expose-headers']).toContain('dpop-nonce')
})

test('a request without a proof needs no nonce where no proof is required', async () => {
  const tokens = await postWithProof(server, exchangeForm(client, code), undefined)
  expect(pairOf(tokens).token_type).toBe('Bearer')
  expect(tokens.headers).not.toHaveProperty('dpop-nonce')
})

test('a refresh without a nonce rotates nothing and ends nothing', async () => {
  const api = await server.createResourceServer(undefined, { dpop: 'allowed' })
  const form = exchangeForm(publicClient, await codeOf(server, publicClient, server.newBrowser()))
  const withNonce = async () => key.prove({ payload: { nonce: nonceOf(0) } })
  const first = pairOf(await postWithProof(server, form, await withNonce()))
  const refreshing = refreshForm(publicClient, first.refresh_token)
  for (let attempt = 1; attempt <= 3; attempt++) expectNonce(await postWithProof(server, refreshing, key))
  expect(await isActive(server, api, first.access_token)).toBe(true)
  const second = pairOf(await postWithProof(server, refreshing, await withNonce()))
  expect(second.refresh_token).not.toBe(first.refresh_token)
})

test('a pushed request without a nonce gets one, and is stored with it', async () => {
  const push = async (nonce?: string) => {
    const proof = await key.prove({ payload: { htu: `${ISSUER}${PUSHED_PATH}`, nonce } })
    return post(server, PUSHED_PATH, requestOf(client, PKCE), { ...basic(client), dpop: proof })
  }
  const accepted = await push(expectNonce(await push()))
  expect([accepted.statusCode, accepted.headers['dpop-nonce']]).toEqual([201, undefined])
  expect((await push(nonceOf(-1))).headers['dpop-nonce']).toBe(nonceOf(0))
})

test('a client with a key of its own repeats the request with a new assertion, because the first one is used', async () => {
  const signer = await createSigningKey()
  const { clientId } = await createClientWithKeys(server, signer)
  const request = { grant_type: 'refresh_token', refresh_token: 'no token' }
  const assertion = await assertionForm(signer, clientId)
  const nonce = expectNonce(await postWithProof(server, { ...request, ...assertion }, key))
  const proof = async () => key.prove({ payload: { nonce } })
  const repeated = await postWithProof(server, { ...request, ...assertion }, await proof())
  expectRefusal(repeated, 401, 'invalid_client')
  const renewed = { ...request, ...(await assertionForm(signer, clientId)) }
  expectRefusal(await postWithProof(server, renewed, await proof()), 400, 'invalid_grant')
})

describe('another process', () => {
  test('with the same keys accepts the nonce', async () => {
    const other = await startInstance(server)
    try {
      expect((await exchange({ nonce: expectNonce(await exchange({})) }, other)).statusCode).toBe(200)
    } finally {
      await other.close()
    }
  })

  test('with a new first key accepts the nonce, and gives one of the new key', async () => {
    const keys = [NEW_COOKIE_KEY, ...server.config.cookieKeys]
    const other = await startInstance(server, { config: { cookieKeys: keys } })
    try {
      const refused = await exchange({}, other)
      expect(refused.headers['dpop-nonce']).toBe(nonceOf(0, { keys }))
      // Both processes sign the records of codes with keys that the other one has, or the code would be lost.
      const proof = await key.prove({ payload: { nonce: nonceOf(0) } })
      const accepted = await postWithProof(other, refreshForm(client, 'no token'), proof)
      expectRefusal(accepted, 400, 'invalid_grant')
      expect(accepted.headers['dpop-nonce']).toBe(nonceOf(0, { keys }))
    } finally {
      await other.close()
    }
  })
})
