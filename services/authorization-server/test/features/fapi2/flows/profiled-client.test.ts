import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { auditOf, recordOf } from '../../../support/codes.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { signedInBrowser } from '../../../support/pages.js'
import { expectRefusal } from '../../../support/refusals.js'
import { introspectionOf, isActive, pairOf } from '../../../support/tokens.js'
import { createSigningKey, type SigningKey } from '../../client-keys/support/assertions.js'
import { createProver, type Prover } from '../../dpop/support/proofs.js'
import { PUSHED_PATH, pushedUrl } from '../../pushed-requests/support/pushed-requests.js'
import { createProfiledClient, type Form, type ProfiledClient } from '../support/profiled-client.js'

const UNMARKED = 'https://unmarked.example'

let server: TestServer
let api: Credentials
let key: SigningKey
let prover: Prover
let other: Prover
let client: ProfiledClient

beforeAll(async () => {
  server = await startTestServer({ DPOP: 'allowed', LIMITS_FACTOR: '100' })
  await server.createUser('alice', PASSWORD)
  api = await server.createResourceServer(undefined, { dpop: 'allowed' })
  await server.createResourceServer(UNMARKED)
  await server.createScope('notes.read', { audience: UNMARKED })
  key = await createSigningKey()
  ;[prover, other] = [await createProver(), await createProver()]
  client = await createProfiledClient(server, { key, prover })
})
afterAll(() => server.close())

const proofOf = (by: Prover, payload: Record<string, unknown> = {}) =>
  by.prove({ payload: { htu: `${ISSUER}/token`, ...payload } })

describe('a client under fapi2', () => {
  test('pushes, exchanges, refreshes and revokes, with bound tokens only', async () => {
    const tokens = await client.tokens()
    const cnf = { jkt: prover.jkt }
    expect(tokens.token_type).toBe('DPoP')
    expect(await introspectionOf(server, api, tokens.access_token)).toMatchObject({ token_type: 'DPoP', cnf })
    const next = pairOf(await client.refresh(tokens.refresh_token))
    expect(await introspectionOf(server, api, next.access_token)).toMatchObject({ token_type: 'DPoP', cnf })
    expect((await client.revoke(next.access_token)).statusCode).toBe(200)
    expect(await isActive(server, api, next.access_token)).toBe(false)
  })

  test('may bind the code with dpop_jkt instead of a proof of the push (RFC 9449 §10.1)', async () => {
    const code = await client.code({ dpop_jkt: prover.jkt }, { dpop: '' })
    expectRefusal(await client.exchange(code, {}, { dpop: await proofOf(other) }), 400, 'invalid_grant')
    expect(pairOf(await client.exchange(code)).token_type).toBe('DPoP')
  })

  test.each([
    { seconds: 10, status: 200 },
    { seconds: 59, status: 200 },
    { seconds: 65, status: 400 },
    { seconds: -65, status: 400 }
  ])('with a proof of $seconds s in the future gets $status', async ({ seconds, status }) => {
    const iat = Math.floor(Date.now() / 1_000) + seconds
    const answer = await client.exchange(await client.code(), {}, { dpop: await proofOf(prover, { iat }) })
    expect([answer.statusCode, answer.json().error_description]).toEqual([
      status,
      status === 200 ? undefined : 'The DPoP proof is not valid: iat must be within 60 seconds of the present time.'
    ])
  })

  test('gets no code for a request that the browser brings', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(authorizeUrl(client.clientId, { code_challenge: 'x'.repeat(43) }))
    expect(responseParameters(page)).toMatchObject({ error: 'invalid_request', state: 'a state' })
  })
})

describe('a push of a client under fapi2 is refused', () => {
  test.each<{ name: string; form: Form; error: string }>([
    { name: 'without code_challenge', form: { code_challenge: undefined }, error: 'invalid_request' },
    { name: 'with the method plain', form: { code_challenge_method: 'plain' }, error: 'invalid_request' },
    { name: 'without a method', form: { code_challenge_method: undefined }, error: 'invalid_request' },
    { name: 'without redirect_uri', form: { redirect_uri: undefined }, error: 'invalid_request' },
    {
      name: 'with an http redirect_uri',
      form: { redirect_uri: 'http://app.example/callback' },
      error: 'invalid_request'
    },
    { name: 'with request_uri', form: { request_uri: 'urn:x' }, error: 'invalid_request' },
    { name: 'with request', form: { request: 'e30.e30.' }, error: 'request_not_supported' },
    { name: 'with the implicit flow', form: { response_type: 'token' }, error: 'unsupported_response_type' },
    { name: 'with a dpop_jkt that is none', form: { dpop_jkt: 'x' }, error: 'invalid_request' }
  ])('$name', async ({ form, error }) => {
    expectRefusal(await client.push(form), 400, error)
  })

  test.each<{ name: string; dpop: () => Promise<string>; form?: () => Form; error: string }>([
    { name: 'with a proof for /token', dpop: () => proofOf(prover), error: 'invalid_dpop_proof' },
    { name: 'with a proof that is none', dpop: async () => 'proof', error: 'invalid_dpop_proof' },
    {
      name: 'with a proof of another key than dpop_jkt',
      dpop: () => prover.prove({ payload: { htu: `${ISSUER}${PUSHED_PATH}` } }),
      form: () => ({ dpop_jkt: other.jkt }),
      error: 'invalid_request'
    }
  ])('$name', async ({ dpop, form, error }) => {
    expectRefusal(await client.push(form?.(), { dpop: await dpop() }), 400, error)
  })
})

describe('the browser of a client under fapi2 sees an error page for a request_uri', () => {
  const uriOf = async (): Promise<string> => (await client.push()).json().request_uri

  test.each<{ name: string; url: () => Promise<string> }>([
    { name: 'that was never issued', url: async () => pushedUrl(client, `${(await uriOf()).slice(0, -3)}AAA`) },
    {
      name: 'of another client',
      url: async () => pushedUrl(await createProfiledClient(server, { key, prover }), await uriOf())
    },
    {
      name: 'that a decision used',
      url: async () => {
        const url = pushedUrl(client, await uriOf())
        const browser = await signedInBrowser(server)
        await browser.submitOnly(await browser.open(url), { decision: 'deny' })
        return url
      }
    }
  ])('$name', async ({ url }) => {
    const page = await (await signedInBrowser(server)).open(await url())
    expect([page.statusCode, page.headers.location]).toEqual([400, undefined])
  })

  test('but not at a second visit before the decision (FAPI 2.0 Security Profile §5.3.2.2)', async () => {
    const url = pushedUrl(client, await uriOf())
    const browser = await signedInBrowser(server)
    await browser.open(url)
    const consent = await browser.open(url)
    expect(responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))).toHaveProperty('code')
  })
})

describe('an exchange of a client under fapi2 is refused, and the code can still be exchanged', () => {
  test.each<{ name: string; dpop: () => Promise<string>; error: string }>([
    { name: 'without a proof', dpop: async () => '', error: 'invalid_request' },
    { name: 'with a proof that is none', dpop: async () => 'proof', error: 'invalid_dpop_proof' },
    { name: 'with a proof of another key than at the push', dpop: () => proofOf(other), error: 'invalid_grant' },
    {
      name: 'with the proof of a push',
      dpop: () => proofOf(prover, { htu: `${ISSUER}${PUSHED_PATH}` }),
      error: 'invalid_dpop_proof'
    },
    { name: 'with a proof for GET', dpop: () => proofOf(prover, { htm: 'GET' }), error: 'invalid_dpop_proof' },
    { name: 'with a proof without jti', dpop: () => proofOf(prover, { jti: undefined }), error: 'invalid_dpop_proof' },
    { name: 'with an old proof', dpop: () => proofOf(prover, { iat: 1 }), error: 'invalid_dpop_proof' },
    {
      name: 'with the typ JWT',
      dpop: () => prover.prove({ header: { typ: 'JWT' } }),
      error: 'invalid_dpop_proof'
    },
    {
      name: 'with the key of another in the proof',
      dpop: () => prover.prove({ header: { jwk: other.jwk } }),
      error: 'invalid_dpop_proof'
    },
    {
      name: 'with a private key in the proof',
      dpop: () => prover.prove({ header: { jwk: { ...prover.jwk, d: 'AA' } } }),
      error: 'invalid_dpop_proof'
    }
  ])('$name', async ({ dpop, error }) => {
    const code = await client.code()
    expectRefusal(await client.exchange(code, {}, { dpop: await dpop() }), 400, error)
    expect(await recordOf(server, code)).toMatch(/^issued /)
    expect(pairOf(await client.exchange(code)).token_type).toBe('DPoP')
  })

  test('for an API that takes no bound tokens', async () => {
    const own = await createProfiledClient(server, { key, prover }, { requiredScopes: ['notes.read'] })
    const code = await own.code({ scope: 'notes.read' })
    const refused = await own.exchange(code)
    expectRefusal(refused, 400, 'invalid_target')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'invalid_target' }])
    expect(await recordOf(server, code)).toMatch(/^issued /)
  })

  test.each<{ name: string; form: Form; error: string }>([
    { name: 'without a verifier', form: { code_verifier: undefined }, error: 'invalid_grant' },
    { name: 'with another verifier', form: { code_verifier: 'x'.repeat(43) }, error: 'invalid_grant' },
    { name: 'with another redirect URI', form: { redirect_uri: 'https://other.example/' }, error: 'invalid_grant' }
  ])('$name', async ({ form, error }) => {
    const code = await client.code()
    expectRefusal(await client.exchange(code, form), 400, error)
    pairOf(await client.exchange(code))
  })

  test('by another client', async () => {
    const code = await client.code()
    const stranger = await createProfiledClient(server, { key: await createSigningKey(), prover })
    expectRefusal(await stranger.exchange(code), 400, 'invalid_grant')
    pairOf(await client.exchange(code))
  })
})

test('a second exchange of a client under fapi2 ends the tokens of the first', async () => {
  const code = await client.code()
  const tokens = pairOf(await client.exchange(code))
  expectRefusal(await client.exchange(code), 400, 'invalid_grant')
  expect(await isActive(server, api, tokens.access_token)).toBe(false)
})

test('a client under fapi2 gets no tokens from a process with DPOP=off', async () => {
  const off = await startInstance(server, { config: { dpop: 'off' } })
  try {
    const there = await createProfiledClient(off, { key, prover })
    const answers: LightMyRequestResponse[] = [await there.push(), await there.exchange('x')]
    for (const answer of answers) expectRefusal(answer, 400, 'unauthorized_client')
  } finally {
    await off.close()
  }
})
