import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeProof } from '../../../dev-stack/lib/client/dpop-proof.mjs'
import { createGuard, type Guard } from '../../src/index.js'
import { type ApiRequest, ISSUER, METADATA_PATH, RESOURCE } from '../adapters/cases.js'
import { requestOf, send } from '../adapters/check-case.js'
import { bound, type DpopCase, dpop, KEY, RULES, URL_OF_REPORTS } from '../adapters/dpop-cases.js'
import { MUTATIONS } from '../adapters/dpop-mutations.js'
import { ADAPTERS, type Adapter } from '../adapters/servers.js'
import { type FakeEndpoint, json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { challengesOf, type RawAnswer } from '../raw-request.js'

let endpoint: FakeEndpoint
let reasons: string[] = []
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
afterAll(() => endpoint.close())

const guardWith = (mode: 'allowed' | 'required') =>
  createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: ['reports.read'],
    tokenFormat: 'any',
    anyOrigin: true,
    dpop: { mode },
    onRefusal: (reason) => reasons.push(reason),
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })

const METADATA_URL = `https://reports.example${METADATA_PATH}`

/** Every parameter, as a client library reads it; the description is the same for all causes. */
async function expectChallenges(response: RawAnswer, expected: readonly string[]): Promise<void> {
  const challenges = await challengesOf(response)
  const named = challenges.map(
    ({ scheme, parameters }) => `${scheme === 'dpop' ? 'DPoP' : 'Bearer'} ${parameters.error ?? ''}`
  )
  expect(named).toEqual(expected)
  for (const { scheme, parameters } of challenges) {
    expect(parameters).toMatchObject({
      realm: 'reports.example',
      scope: 'reports.read',
      resource_metadata: METADATA_URL
    })
    expect(parameters.algs).toBe(scheme === 'dpop' ? 'ES256 PS256 EdDSA Ed25519' : undefined)
  }
}

describe.each(ADAPTERS)('$name', (adapter) => {
  describe.each(['allowed', 'required'] as const)('where DPoP is %s', (mode) => {
    let guard: Guard
    let api: Awaited<ReturnType<Adapter['start']>>
    beforeAll(async () => {
      guard = guardWith(mode)
      api = await adapter.start(guard)
    })
    afterAll(async () => {
      await api.close()
      await guard.close()
    })
    const sendWith = (headers: ApiRequest['headers'], change: Partial<ApiRequest> = {}) =>
      send(api, requestOf({ headers, ...change }))

    test.each(RULES)('the guard answers $name with $status (RFC 9449 §7.1, §7.2)', async (each: DpopCase) => {
      endpoint.answers(each.answer ?? json(bound))
      reasons = []
      const response = await sendWith(each.headers(), each.target === undefined ? {} : { target: each.target })
      const status = mode === 'required' ? (each.required ?? each.status) : each.status
      expect(response.status).toBe(status)
      const isRefusal = status !== 200 && status !== 503
      await expectChallenges(response, isRefusal ? (each.challenges?.[mode] ?? []) : [])
      expect(reasons).toEqual(each.reason === undefined ? expect.any(Array) : [each.reason])
      const fields = response.fields.filter((field) => /^www-authenticate:/i.test(field))
      expect(fields).toHaveLength(!isRefusal ? 0 : mode === 'required' || adapter.joinsHeaders ? 1 : 2)
    })

    test.each(MUTATIONS)('the guard refuses a proof with $name (RFC 9449 §4.3)', async ({ headers, reason }) => {
      endpoint.answers(json(bound))
      reasons = []
      const response = await sendWith(headers())
      expect(response.status).toBe(401)
      // `Headers` joins two proofs to one that is no JWS.
      const isJoined = adapter.joinsHeaders && reason === 'proof_not_one_proof'
      expect(reasons).toEqual([isJoined ? 'proof_not_a_jws' : reason])
      expect(await challengesOf(response)).toMatchObject(
        mode === 'required' ? [{ scheme: 'dpop' }] : [{ scheme: 'bearer' }, { scheme: 'dpop' }]
      )
      expect((await challengesOf(response)).at(-1)?.parameters).toMatchObject({
        error: expect.stringMatching(/^invalid_/),
        error_description: 'The DPoP proof is not valid for this request.'
      })
    })

    test('the guard accepts a proof once, and the handler gets the token', async () => {
      endpoint.answers(json(bound))
      reasons = []
      const headers = dpop()
      const first = await sendWith(headers)
      expect(JSON.parse(first.body)).toMatchObject({ subject: 'alice-id' })
      expect((await sendWith(headers)).status).toBe(401)
      expect(reasons).toEqual(['proof_used'])
    })

    test('the guard compares the path that the client called, without query and encoded otherwise', async () => {
      endpoint.answers(json(bound))
      const headers = dpop({ url: 'HTTPS://reports.example:443/%72eports?page=2' })
      expect((await sendWith(headers, { target: '/reports?page=1' })).status).toBe(200)
    })

    test('the guard compares the method', async () => {
      endpoint.answers(json(bound))
      const proof = makeProof({ key: KEY, accessToken: 'abc', url: URL_OF_REPORTS, method: 'POST' })
      const headers = [
        ['Authorization', 'DPoP abc'],
        ['DPoP', proof]
      ] as const
      expect((await sendWith(headers, { method: 'POST' })).status).toBe(200)
    })

    test('the metadata names the algorithms, and whether DPoP is required (RFC 9728 §2)', async () => {
      const { body } = await sendWith([], { target: METADATA_PATH })
      expect(JSON.parse(body)).toMatchObject({
        dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
        bearer_methods_supported: mode === 'required' ? [] : ['header'],
        ...(mode === 'required' && { dpop_bound_access_tokens_required: true })
      })
    })

    test('a script of another origin may send a proof and read the challenges (Fetch standard)', async () => {
      endpoint.answers(json(bound))
      const { headers } = await sendWith([
        ['Origin', 'https://app.example'],
        ['Authorization', 'DPoP abc']
      ])
      expect(headers.get('access-control-expose-headers')).toContain('www-authenticate, dpop-nonce')
      const asked = [
        ['Access-Control-Request-Method', 'GET'],
        ['Access-Control-Request-Headers', 'dpop']
      ] as const
      const preflight = await sendWith(asked, { method: 'OPTIONS' })
      expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
        204,
        'authorization, *, dpop'
      ])
    })
  })
})
