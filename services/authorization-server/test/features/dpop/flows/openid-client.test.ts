import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import * as client from 'openid-client'
import { ISSUER, REDIRECT_URI, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { obtainCode, PASSWORD, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { createPublicClient, introspectionOf } from '../../../support/tokens.js'
import { createClientWithKeys, createSigningKey } from '../../client-keys/support/assertions.js'

describe.each([
  { nonces: 'off', statuses: [200, 200], pushed: [201, 200] },
  // The first request gets a nonce, and the library repeats it; later ones have it.
  { nonces: 'required', statuses: [400, 200, 200], pushed: [400, 201, 200] }
])('openid-client, with DPOP_NONCES=$nonces', ({ nonces, statuses, pushed }) => {
  let server: TestServer
  let answers: number[]

  beforeAll(async () => {
    server = await startTestServer({ DPOP: 'required', DPOP_NONCES: nonces })
    await server.createUser('alice', PASSWORD)
    await server.publicServer.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => server.close())
  beforeEach(() => {
    answers = []
  })

  /** The issuer of tests is at another port. */
  async function send(url: string, options: RequestInit): Promise<Response> {
    const { port } = server.publicServer.server.address() as AddressInfo
    const answer = await fetch(url.replace(ISSUER, `http://127.0.0.1:${port}`), options)
    if (options.method === 'POST') answers.push(answer.status)
    return answer
  }

  const discover = (clientId: string, authentication: client.ClientAuth) =>
    client.discovery(new URL(ISSUER), clientId, undefined, authentication, {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
      [client.customFetch]: (url, options) => send(url, options as RequestInit)
    })

  test('gets and refreshes bound tokens over HTTP, with a bound code (RFC 9449)', async () => {
    const api = await server.createResourceServer(undefined, { dpop: 'required' })
    const registered = await createPublicClient(server)
    const configuration = await discover(registered.clientId, client.None())
    expect(configuration.serverMetadata().dpop_signing_alg_values_supported).toEqual([
      'ES256',
      'PS256',
      'EdDSA',
      'Ed25519'
    ])
    const keys = await client.randomDPoPKeyPair('ES256')
    const DPoP = client.getDPoPHandle(configuration, keys)
    const jkt = await DPoP.calculateThumbprint()
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const code = await obtainCode(server, registered, {
      change: {
        code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
        dpop_jkt: jkt
      }
    })
    const callback = new URL(`https://app.example/callback?code=${code}&iss=${encodeURIComponent(ISSUER)}&state=s`)
    const checks = { pkceCodeVerifier, expectedState: 's' }
    const tokens = await client.authorizationCodeGrant(configuration, callback, checks, undefined, { DPoP })
    expect(tokens.token_type).toBe('dpop')
    const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '', undefined, { DPoP })
    expect(await introspectionOf(server, api, refreshed.access_token)).toMatchObject({ cnf: { jkt } })
    expect(answers).toEqual(statuses)
  })

  test('pushes a request and exchanges the code with a key instead of a secret', async () => {
    const key = await createSigningKey()
    const registered = await createClientWithKeys(server, key)
    const authentication = client.PrivateKeyJwt({ key: key.privateKey, kid: key.jwk.kid })
    const configuration = await discover(registered.clientId, authentication)
    const DPoP = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair('ES256'))
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const parameters = {
      redirect_uri: REDIRECT_URI,
      scope: 'files.read',
      state: 's',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256'
    }
    const url = await client.buildAuthorizationUrlWithPAR(configuration, parameters, { DPoP })
    const browser = await signedInBrowser(server)
    const consent = await browser.open(url.href)
    const { code = '' } = responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))
    const callback = new URL(`${REDIRECT_URI}?code=${code}&iss=${encodeURIComponent(ISSUER)}&state=s`)
    const checks = { pkceCodeVerifier, expectedState: 's' }
    // Each attempt has an assertion of its own: one that was used would be 401.
    await client.authorizationCodeGrant(configuration, callback, checks, undefined, { DPoP })
    expect(answers).toEqual(pushed)
  })
})
