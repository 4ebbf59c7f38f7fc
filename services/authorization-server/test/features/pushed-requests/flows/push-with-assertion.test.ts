import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import * as openid from 'openid-client'
import {
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../../support/authorization-server.js'
import { auditOf, PKCE, VERIFIER } from '../../../support/codes.js'
import { PASSWORD, post, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { expectRefusal } from '../../../support/refusals.js'
import { introspectionOf } from '../../../support/tokens.js'
import {
  assertionForm,
  createClientWithKeys,
  createSigningKey,
  type SigningKey
} from '../../client-keys/support/assertions.js'
import { PUSHED_PATH, pushedUrl, requestOf } from '../support/pushed-requests.js'

let server: TestServer
let key: SigningKey
let client: Credentials
let assertion: Record<string, string>

beforeAll(async () => {
  server = await startTestServer({ DPOP: 'allowed' })
  await server.createUser('alice', PASSWORD)
  key = await createSigningKey()
  client = await createClientWithKeys(server, key)
})
afterAll(() => server.close())
beforeEach(async () => {
  assertion = await assertionForm(key, client.clientId)
})

type Change = Record<string, string | undefined>

const push = (change: Change = {}) => post(server, PUSHED_PATH, { ...requestOf(client, change), ...assertion })
const tokenForm = (code: string) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: REDIRECT_URI,
  code_verifier: VERIFIER
})

describe('a client with a key', () => {
  test.each<{ name: string; change: Change }>([
    { name: 'beside its client_id', change: {} },
    { name: 'without client_id', change: { client_id: undefined } }
  ])('pushes a request with an assertion $name, and exchanges the code with another one', async ({ change }) => {
    const pushed = await push({ ...PKCE, ...change })
    expect(pushed.statusCode).toBe(201)
    const browser = await signedInBrowser(server)
    const consent = await browser.open(pushedUrl(client, pushed.json().request_uri))
    const { code = '' } = responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))
    const next = await assertionForm(key, client.clientId)
    expect((await post(server, '/token', { ...tokenForm(code), ...next })).statusCode).toBe(200)
  })

  test.each<{ name: string; send: () => Promise<LightMyRequestResponse> }>([
    { name: 'its id alone', send: () => post(server, PUSHED_PATH, requestOf(client)) },
    {
      name: 'the signature of another key',
      send: async () => {
        const stranger = { ...(await createSigningKey()), jwk: key.jwk }
        return post(server, PUSHED_PATH, { ...requestOf(client), ...(await assertionForm(stranger, client.clientId)) })
      }
    },
    {
      name: 'the URL of the endpoint as audience',
      send: async () => {
        const change = { payload: { aud: `${ISSUER}${PUSHED_PATH}` } }
        return post(server, PUSHED_PATH, {
          ...requestOf(client),
          ...(await assertionForm(key, client.clientId, change))
        })
      }
    }
  ])('is refused with $name', async ({ send }) => {
    expectRefusal(await send(), 401, 'invalid_client')
  })

  test('leaves no assertion in the record of its request', async () => {
    await push()
    const bodies = await Promise.all(
      (await server.redis.keys('vk:par:*')).map((name) => server.redis.hget(name, 'body'))
    )
    expect(bodies.length).toBeGreaterThan(0)
    expect(bodies.join()).not.toContain('client_assertion')
  })
})

describe('an assertion is used once, at all endpoints together (RFC 7523 §3)', () => {
  const endpoints = {
    push: () => push(),
    refusedPush: () => push({ scope: 'unknown' }),
    token: () => post(server, '/token', { ...tokenForm('x'), ...assertion }),
    revoke: () => post(server, '/oauth/revoke', { token: 'x', ...assertion })
  }
  type Endpoint = keyof typeof endpoints

  test.each<{ first: Endpoint; status: number; again: Endpoint }>([
    { first: 'push', status: 201, again: 'token' },
    { first: 'push', status: 201, again: 'revoke' },
    { first: 'push', status: 201, again: 'push' },
    { first: 'refusedPush', status: 400, again: 'token' },
    { first: 'token', status: 400, again: 'push' },
    { first: 'revoke', status: 200, again: 'push' }
  ])('first at $first ($status), then at $again', async ({ first, status, again }) => {
    expect((await endpoints[first]()).statusCode).toBe(status)
    const refused = await endpoints[again]()
    expectRefusal(refused, 401, 'invalid_client')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'assertion_used' }])
  })
})

test('openid-client pushes with PrivateKeyJwt and a proof, and gets tokens of the key', async () => {
  const api = await server.createResourceServer(undefined, { dpop: 'required' })
  await server.publicServer.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.publicServer.server.address() as AddressInfo
  // The issuer of tests is at another port.
  const customFetch: openid.CustomFetch = (url, options) =>
    fetch(url.replace(ISSUER, `http://127.0.0.1:${port}`), options as RequestInit)
  const authentication = openid.PrivateKeyJwt({ key: key.privateKey, kid: key.jwk.kid })
  const configuration = await openid.discovery(new URL(ISSUER), client.clientId, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
    [openid.customFetch]: customFetch
  })
  const DPoP = openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair('ES256'))
  const parameters = { redirect_uri: REDIRECT_URI, scope: 'files.read', state: 's', ...PKCE }
  const address = await openid.buildAuthorizationUrlWithPAR(configuration, parameters, { DPoP })
  const browser = await signedInBrowser(server)
  const { code = '' } = responseParameters(
    await browser.submitOnly(await browser.open(address.href), { decision: 'allow' })
  )
  const callback = new URL(`${REDIRECT_URI}?code=${code}&iss=${encodeURIComponent(ISSUER)}&state=s`)
  const checks = { pkceCodeVerifier: VERIFIER, expectedState: 's' }
  const tokens = await openid.authorizationCodeGrant(configuration, callback, checks, undefined, { DPoP })
  const cnf = { jkt: await DPoP.calculateThumbprint() }
  expect(await introspectionOf(server, api, tokens.access_token)).toMatchObject({ cnf })
})
