import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ConfigurationError } from '@valetkey/service-kit'
import { readConfig } from '../../../../src/config.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { auditOf } from '../../../support/codes.js'
import { authorizeUrl, basic, PASSWORD, post, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { expectRefusal } from '../../../support/refusals.js'
import { createPublicClient, pairOf } from '../../../support/tokens.js'
import { assertionForm, createClientWithKeys, createSigningKey } from '../../client-keys/support/assertions.js'
import { createProver } from '../../dpop/support/proofs.js'
import { PUSHED_PATH, requestOf } from '../../pushed-requests/support/pushed-requests.js'
import { createProfiledClient } from '../support/profiled-client.js'

const METADATA = '/.well-known/oauth-authorization-server'

describe('a server with PROFILE=fapi2', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer({ PROFILE: 'fapi2' })
    await server.createUser('alice', PASSWORD)
    await server.createResourceServer(undefined, { dpop: 'required' })
  })
  afterAll(() => server.close())

  test('announces only what it serves (RFC 8414 §2)', async () => {
    const metadata = JSON.parse((await server.publicServer.inject(METADATA)).body)
    const algorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519']
    expect(metadata).toMatchObject({
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      require_pushed_authorization_requests: true,
      dpop_signing_alg_values_supported: algorithms,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true
    })
  })

  test('serves a client under the profile', async () => {
    const keys = { key: await createSigningKey(), prover: await createProver() }
    const client = await createProfiledClient(server, keys)
    const tokens = await client.tokens()
    expect(pairOf(await client.refresh(tokens.refresh_token)).token_type).toBe('DPoP')
  })

  const PATHS = ['/token', PUSHED_PATH, '/oauth/revoke']

  test.each(PATHS)('refuses other clients at %s, whatever their method', async (path) => {
    const secret = await server.createClient()
    const open = await createPublicClient(server)
    const key = await createSigningKey()
    const withKey = await createClientWithKeys(server, key)
    const form = { ...requestOf(secret), grant_type: 'refresh_token', refresh_token: 'x', token: 'x' }
    const assertion = await assertionForm(key, withKey.clientId)
    for (const answer of [
      await post(server, path, form, basic(secret)),
      await post(server, path, { ...form, client_id: open.clientId }),
      await post(server, path, { ...form, ...assertion, client_id: withKey.clientId })
    ]) {
      expectRefusal(answer, 400, 'unauthorized_client')
      expect(await auditOf(server, answer)).toEqual([{ event: 'request_refused', reason: 'unauthorized_client' }])
    }
  })

  test('gives other clients no code', async () => {
    const { clientId } = await server.createClient()
    const browser = await signedInBrowser(server)
    const page = await browser.open(authorizeUrl(clientId))
    expect(responseParameters(page)).toMatchObject({ error: 'invalid_request' })
  })
})

const SETTINGS = {
  ISSUER: 'https://auth.example',
  RESOURCE_URL: 'https://files.example',
  DATABASE_URL: 'postgres://auth:password@db/auth',
  REDIS_URL: 'redis://redis:6379',
  COOKIE_KEYS: 'x'.repeat(43)
}

/** What is wrong with these settings. */
function problemsOf(change: Record<string, string>): readonly string[] {
  try {
    readConfig({ ...SETTINGS, ...change })
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

describe('the settings of PROFILE=fapi2', () => {
  test('require pushes and proofs by default', () => {
    expect(problemsOf({ PROFILE: 'fapi2' })).toEqual([])
    expect(readConfig({ ...SETTINGS, PROFILE: 'fapi2' })).toMatchObject({
      dpop: 'required',
      pushedRequests: 'required'
    })
  })

  test('refuse the start with all settings that contradict it', () => {
    const problems = problemsOf({
      PROFILE: 'fapi2',
      DPOP: 'allowed',
      PUSHED_REQUESTS: 'allowed',
      CLIENT_ID_METADATA: 'open'
    })
    expect(problems).toEqual([
      expect.stringMatching(/^DPOP.* must be required, because PROFILE is fapi2/),
      expect.stringMatching(/^PUSHED_REQUESTS.* must be required, because PROFILE is fapi2/),
      expect.stringMatching(/^CLIENT_ID_METADATA.* must be off, because PROFILE is fapi2/)
    ])
  })

  test('are none by default, and refuse an unknown profile', () => {
    expect(readConfig(SETTINGS)).toMatchObject({ profile: 'none', dpop: 'off', pushedRequests: 'allowed' })
    expect(problemsOf({ PROFILE: 'fapi1' })).toHaveLength(1)
  })
})
