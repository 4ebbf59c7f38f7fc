import { afterEach, describe, expect, test } from '@jest/globals'
import { makeProof, newProofKey } from '../../../../packages/dev-stack/lib/client/dpop-proof.mjs'
import { createProofNonces } from '../../../../packages/oauth-protocol/src/signed/proof-nonces.js'
import { authorization, build, closeApp, live, PAGE_TOKEN_KEY, RESOURCE, send } from '../support/files-app.js'

afterEach(closeApp)

const KEY = newProofKey()
const accessToken = authorization.slice('Bearer '.length)
const bound = { ...live, tokenType: 'DPoP', isSenderConstrained: true, keyThumbprint: KEY.thumbprint }

/** Headers with a new proof. @param htu default: the public URL of the list */
const proven = (htu = `${RESOURCE}/v1/files`, method = 'GET') => ({
  authorization: `DPoP ${accessToken}`,
  dpop: makeProof({ key: KEY, accessToken, url: htu, method })
})

const challengesOf = (header: unknown): string[] => [header].flat().map((one) => String(one).split(' ', 1)[0] ?? '')

describe.each(['allowed', 'required'] as const)('DPOP=%s', (dpop) => {
  const buildWith = (change = {}) => build({ introspect: async () => bound, dpop, ...change })

  test('The list accepts a bound token with a proof for the public URL, and 304 with a new proof', async () => {
    buildWith()
    const { statusCode, headers } = await send({ url: '/v1/files?page_size=5', headers: proven() })
    expect(statusCode).toBe(200)
    const again = { ...proven(undefined, 'HEAD'), 'if-none-match': String(headers.etag) }
    expect((await send({ method: 'HEAD', url: '/v1/files?page_size=5', headers: again })).statusCode).toBe(304)
  })

  test('The list below a path accepts a proof for the whole path', async () => {
    const resourceUrl = `${RESOURCE}/api`
    buildWith({ resourceUrl, introspect: async () => ({ ...bound, audience: [resourceUrl] }) })
    const { statusCode } = await send({ url: '/api/v1/files', headers: proven(`${resourceUrl}/v1/files`) })
    expect(statusCode).toBe(200)
    expect((await send({ url: '/api/v1/files', headers: proven() })).statusCode).toBe(401)
  })

  test('The list refuses a proof that was used, and the metrics have both', async () => {
    const { publicServer, operatorServer } = buildWith()
    const headers = proven()
    expect((await send({ url: '/v1/files', headers })).statusCode).toBe(200)
    const refused = await publicServer.inject({ url: '/v1/files', headers })
    expect([refused.statusCode, refused.json().error]).toEqual([401, 'invalid_dpop_proof'])
    expect(challengesOf(refused.headers['www-authenticate'])).toEqual(
      dpop === 'required' ? ['DPoP'] : ['Bearer', 'DPoP']
    )
    const { payload } = await operatorServer.inject('/metrics')
    expect(payload).toContain('valetkey_access_tokens_refused_total{reason="proof_used"} 1')
    expect(payload).toMatch(/^valetkey_proofs_remembered 1$/m)
    expect(payload).toMatch(/^valetkey_proofs_memory_full_total 0$/m)
  })

  test('The list refuses the bound token as a bearer token', async () => {
    buildWith()
    expect((await send({ url: '/v1/files', headers: { authorization } })).statusCode).toBe(401)
  })

  test(`The list answers a plain bearer token with ${dpop === 'required' ? 401 : 200}`, async () => {
    buildWith({ introspect: async () => live })
    const { statusCode } = await send({ url: '/v1/files', headers: { authorization } })
    expect(statusCode).toBe(dpop === 'required' ? 401 : 200)
  })

  test('The metadata names the algorithms (RFC 9728 §2)', async () => {
    const { publicServer } = buildWith()
    const metadata = (await publicServer.inject('/.well-known/oauth-protected-resource')).json()
    expect(metadata.dpop_signing_alg_values_supported).toEqual(['ES256', 'PS256', 'EdDSA', 'Ed25519'])
    expect(metadata.dpop_bound_access_tokens_required).toBe(dpop === 'required' ? true : undefined)
  })
})

describe('DPOP_NONCES=required', () => {
  const withNonce = (nonce: unknown, method = 'GET') => ({
    authorization: `DPoP ${accessToken}`,
    dpop: makeProof({ key: KEY, accessToken, url: `${RESOURCE}/v1/files`, method, claims: { nonce } })
  })
  const nonceOf = (minutes: number) =>
    createProofNonces({ keys: [PAGE_TOKEN_KEY], role: 'resource server', server: RESOURCE }).newest(
      new Date(NOW.getTime() + minutes * 60_000)
    )
  // In the middle of a minute, because a nonce is the same for a minute.
  const NOW = new Date()
  NOW.setSeconds(30, 0)
  const buildWith = () =>
    build({ introspect: async () => bound, dpop: 'allowed', dpopNonces: 'required', now: () => NOW })

  test('The list gives a nonce to a proof without one, and accepts it (RFC 9449 §9)', async () => {
    const { operatorServer } = buildWith()
    const refused = await send({ url: '/v1/files', headers: withNonce(undefined) })
    expect([refused.statusCode, refused.json().error]).toEqual([401, 'use_dpop_nonce'])
    expect(refused.headers).toMatchObject({ 'dpop-nonce': nonceOf(0), 'cache-control': 'no-store' })
    const accepted = await send({ url: '/v1/files', headers: withNonce(refused.headers['dpop-nonce']) })
    expect(accepted.statusCode).toBe(200)
    expect(accepted.headers).toMatchObject({ 'cache-control': 'private, no-cache' })
    expect(accepted.headers).not.toHaveProperty('dpop-nonce')
    expect((await send({ url: '/v1/files', headers: withNonce('x') })).statusCode).toBe(401)
    const { payload } = await operatorServer.inject('/metrics')
    expect(payload).toContain('valetkey_access_tokens_refused_total{reason="proof_nonce_missing"} 1')
    expect(payload).toContain('valetkey_access_tokens_refused_total{reason="proof_nonce_refused"} 1')
  })

  test.each(['GET', 'HEAD'] as const)(
    '%s with an older nonce gets the newest one, which is not cached',
    async (method) => {
      buildWith()
      const first = await send({ method, url: '/v1/files', headers: withNonce(nonceOf(-1), method) })
      expect([first.statusCode, first.headers['cache-control'], first.headers['dpop-nonce']]).toEqual([
        200,
        'no-store',
        nonceOf(0)
      ])
      const headers = { ...withNonce(nonceOf(-2), method), 'if-none-match': String(first.headers.etag) }
      const unchanged = await send({ method, url: '/v1/files', headers })
      expect([unchanged.statusCode, unchanged.headers['cache-control'], unchanged.headers['dpop-nonce']]).toEqual([
        304,
        'no-store',
        nonceOf(0)
      ])
    }
  )
})

test('Without DPOP, the list refuses a bound token with a proof, and no metric counts proofs', async () => {
  const { operatorServer } = build({ introspect: async () => bound })
  const { statusCode, headers } = await send({ url: '/v1/files', headers: proven() })
  expect([statusCode, challengesOf(headers['www-authenticate'])]).toEqual([401, ['Bearer']])
  expect((await operatorServer.inject('/metrics')).payload).not.toMatch(/^valetkey_proofs_remembered /m)
})
