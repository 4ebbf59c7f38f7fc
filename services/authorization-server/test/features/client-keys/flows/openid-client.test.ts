import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as client from 'openid-client'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { obtainCode, PASSWORD } from '../../../support/flow.js'
import { isActive } from '../../../support/tokens.js'
import { createClientWithKeys, createSigningKey } from '../support/assertions.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.publicServer.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

test.each(['ES256', 'PS256', 'Ed25519'])(
  'openid-client gets, refreshes and revokes tokens with PrivateKeyJwt and a key for %s (RFC 7523)',
  async (algorithm) => {
    const key = await createSigningKey(algorithm)
    const { clientId } = await createClientWithKeys(server, key)
    const { port } = server.publicServer.server.address() as AddressInfo
    // The issuer of tests is at another port.
    const customFetch: client.CustomFetch = (url, options) =>
      fetch(url.replace(ISSUER, `http://127.0.0.1:${port}`), options as RequestInit)
    const authentication = client.PrivateKeyJwt({ key: key.privateKey, kid: key.jwk.kid })
    const configuration = await client.discovery(new URL(ISSUER), clientId, undefined, authentication, {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
      [client.customFetch]: customFetch
    })
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const challenge = {
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256'
    }
    const code = await obtainCode(server, { clientId, clientSecret: '' }, { change: challenge })
    const callback = new URL(`https://app.example/callback?code=${code}&iss=${encodeURIComponent(ISSUER)}&state=s`)
    const checks = { pkceCodeVerifier, expectedState: 's' }
    const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
    const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    const api = await server.createResourceServer()
    expect(await isActive(server, api, refreshed.access_token)).toBe(true)
    await client.tokenRevocation(configuration, refreshed.access_token)
    expect(await isActive(server, api, refreshed.access_token)).toBe(false)
  }
)
