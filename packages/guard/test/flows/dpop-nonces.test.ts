import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import * as oauth from 'oauth4webapi'
import { createProofNonces } from '../../../oauth-protocol/src/signed/proof-nonces.js'
import { createGuard, type DpopOptions, type Guard } from '../../src/index.js'
import { type ApiRequest, ISSUER, RESOURCE } from '../adapters/cases.js'
import { requestOf, send } from '../adapters/check-case.js'
import { bound, dpop, OTHER_KEY, scheme, URL_OF_REPORTS } from '../adapters/dpop-cases.js'
import { ADAPTERS, type Adapter } from '../adapters/servers.js'
import { type FakeEndpoint, json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { challengesOf, type RawAnswer } from '../raw-request.js'

const NONCE_KEY = 'a secret of at least thirty-two characters'
const NEW_KEY = 'another secret, which all processes know'
/** In the middle of a step, and not of this machine: only the clock of the API counts. */
const NOW = new Date('2027-01-01T12:00:30Z')

let endpoint: FakeEndpoint
let reasons: string[] = []
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
beforeEach(() => {
  endpoint.answers(json(valid))
  reasons = []
})
afterAll(() => endpoint.close())

/** A token that the clock of the API accepts. */
const valid = { ...bound, exp: Math.floor(NOW.getTime() / 1_000) + 3_600 }

const guardWith = (change: DpopOptions = {}) =>
  createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: ['reports.read'],
    tokenFormat: 'any',
    anyOrigin: true,
    dpop: { nonceKeys: [NONCE_KEY], ...change },
    now: () => NOW,
    onRefusal: (reason) => reasons.push(reason),
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })

/** @param minutes from now */
function nonceOf(minutes: number, change: Partial<Parameters<typeof createProofNonces>[0]> = {}): string {
  const settings = { keys: [NONCE_KEY], role: 'resource server', server: RESOURCE } as const
  return createProofNonces({ ...settings, ...change }).newest(new Date(NOW.getTime() + minutes * 60_000))
}

const noncesIn = ({ fields }: RawAnswer) => fields.filter((field) => /^dpop-nonce:/i.test(field))
const errorsIn = async (answer: RawAnswer) =>
  (await challengesOf(answer)).map(({ scheme, parameters }) => [scheme, parameters.error])

describe.each(ADAPTERS)('$name', (adapter) => {
  let guard: Guard
  let api: Awaited<ReturnType<Adapter['start']>>
  beforeAll(async () => {
    guard = guardWith()
    api = await adapter.start(guard)
  })
  afterAll(async () => {
    await api.close()
    await guard.close()
  })
  const sendWith = (nonce: unknown, change: Partial<ApiRequest> = {}, claims: object = {}) => {
    const url = new URL(change.target ?? '/reports', URL_OF_REPORTS).href
    return send(api, requestOf({ headers: dpop({ url, claims: { nonce, ...claims } }), ...change }))
  }

  async function expectNonce(answer: RawAnswer, reason: string): Promise<void> {
    expect(answer.status).toBe(401)
    expect(noncesIn(answer)).toHaveLength(1)
    expect(answer.headers.get('dpop-nonce')).toBe(nonceOf(0))
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await errorsIn(answer)).toEqual([
      ['bearer', undefined],
      ['dpop', 'use_dpop_nonce']
    ])
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'use_dpop_nonce', status: 401 })
    expect(reasons).toEqual([reason])
  }

  test('a proof without a nonce gets one, and is accepted with it (RFC 9449 §9)', async () => {
    const claims = { jti: 'one' }
    await expectNonce(await sendWith(undefined, {}, claims), 'proof_nonce_missing')
    const accepted = await sendWith(nonceOf(0), {}, claims)
    expect([accepted.status, noncesIn(accepted)]).toEqual([200, []])
  })

  test.each<{ name: string; nonce: () => string }>([
    { name: 'of three minutes ago', nonce: () => nonceOf(-3) },
    { name: 'of two minutes ahead', nonce: () => nonceOf(2) },
    { name: 'of an authorization server', nonce: () => nonceOf(0, { role: 'authorization server' }) },
    { name: 'of another API with the same secret', nonce: () => nonceOf(0, { server: 'https://other.example' }) },
    { name: 'of another secret', nonce: () => nonceOf(0, { keys: [NEW_KEY] }) },
    { name: 'that was made up', nonce: () => '' }
  ])('a proof with a nonce $name gets a new one', async ({ nonce }) => {
    await expectNonce(await sendWith(nonce()), 'proof_nonce_refused')
  })

  test.each([-2, -1])('a nonce of %d minutes is accepted, and its response has the newest one', async (minutes) => {
    const accepted = await sendWith(nonceOf(minutes))
    expect(accepted.status).toBe(200)
    expect(noncesIn(accepted)).toHaveLength(1)
    expect(accepted.headers.get('dpop-nonce')).toBe(nonceOf(0))
    expect(accepted.headers.get('access-control-expose-headers')).toContain('dpop-nonce')
  })

  test('the response with a nonce must not be cached, whatever its handler says (§8.2)', async () => {
    const target = '/linked'
    const without = await sendWith(nonceOf(0), { target })
    expect([without.headers.get('cache-control'), noncesIn(without)]).toEqual(['private, max-age=600', []])
    const withNonce = await sendWith(nonceOf(-1), { target })
    expect(withNonce.fields.filter((field) => /^cache-control:/i.test(field))).toHaveLength(1)
    expect(withNonce.headers.get('cache-control')).toBe('no-store')
    expect(withNonce.headers.get('dpop-nonce')).toBe(nonceOf(0))
  })

  test('a token with too little scope gets the newest nonce, too', async () => {
    endpoint.answers(json({ ...valid, scope: 'profile' }))
    const refused = await sendWith(nonceOf(-1))
    expect([refused.status, refused.headers.get('dpop-nonce')]).toEqual([403, nonceOf(0)])
  })

  test('a proof is accepted once with its nonce, whatever the clock of its client', async () => {
    const headers = dpop({ claims: { nonce: nonceOf(0), iat: 1 } })
    expect((await send(api, requestOf({ headers }))).status).toBe(200)
    const repeated = await send(api, requestOf({ headers }))
    expect([repeated.status, noncesIn(repeated)]).toEqual([401, []])
    expect(reasons).toEqual(['proof_used'])
  })

  test.each<{ name: string; headers: () => ApiRequest['headers']; reason: string }>([
    { name: 'no proof', headers: () => [scheme], reason: 'proof_missing' },
    { name: 'another method', headers: () => dpop({ claims: { htm: 'PUT' } }), reason: 'proof_htm' },
    { name: 'another key', headers: () => dpop({ key: OTHER_KEY }), reason: 'proof_other_key' },
    { name: 'a nonce that is no text', headers: () => dpop({ claims: { nonce: 1 } }), reason: 'proof_nonce' }
  ])('a request with $name gets no nonce', async ({ headers, reason }) => {
    const refused = await send(api, requestOf({ headers: headers() }))
    expect([refused.status, noncesIn(refused), reasons]).toEqual([401, [], [reason]])
  })

  test('an unmodified oauth4webapi repeats the request with the nonce (isDPoPNonceError)', async () => {
    const DPoP = oauth.DPoP({}, await oauth.generateKeyPair('ES256'))
    endpoint.answers(json({ ...valid, cnf: { jkt: await DPoP.calculateThumbprint() } }))
    const request = () =>
      oauth.protectedResourceRequest('abc', 'GET', new URL(URL_OF_REPORTS), undefined, undefined, {
        DPoP,
        [oauth.customFetch]: (url, options) =>
          fetch(`http://127.0.0.1:${api.port}${new URL(url).pathname}`, options as RequestInit)
      })
    const failure = await request().catch((error: unknown) => error)
    expect(oauth.isDPoPNonceError(failure)).toBe(true)
    expect((await request()).status).toBe(200)
    expect((await request()).status).toBe(200)
    expect(reasons).toEqual(['proof_nonce_missing'])
  })
})

test.each(ADAPTERS.filter(({ name }) => name.startsWith('Express')))(
  '$name: 304 with a nonce must not be cached',
  async ({ start }) => {
    const guard = guardWith()
    const api = await start(guard)
    const get = (nonce: string, others: ApiRequest['headers']) =>
      send(api, requestOf({ headers: [...dpop({ claims: { nonce } }), ...others] }))
    const etag = (await get(nonceOf(0), [])).headers.get('etag') ?? ''
    const { status, headers } = await get(nonceOf(-1), [['If-None-Match', etag]])
    expect([status, headers.get('cache-control'), headers.get('dpop-nonce')]).toEqual([304, 'no-store', nonceOf(0)])
    await api.close()
    await guard.close()
  }
)

test('two processes with the same secret accept the nonces of each other, also while it is replaced', async () => {
  const rotated = guardWith({ nonceKeys: [NEW_KEY, NONCE_KEY] })
  const former = guardWith({ nonceKeys: [NONCE_KEY, NEW_KEY] })
  const check = (guard: Guard, nonce?: string) =>
    guard.check({ method: 'GET', url: '/reports', rawHeaders: dpop({ claims: { nonce } }).flat() })
  for (const [first, second] of [
    [rotated, former],
    [former, rotated]
  ] as const) {
    const refused = await check(first)
    const nonce = refused.kind === 'refused' ? refused.headers['dpop-nonce'] : undefined
    const accepted = await check(second, nonce)
    expect(accepted).toMatchObject({ kind: 'accepted', headers: { 'cache-control': 'no-store' } })
  }
  await rotated.close()
  await former.close()
})

test('an accepted outcome without a new nonce has no headers', async () => {
  const guard = guardWith()
  const rawHeaders = dpop({ claims: { nonce: nonceOf(0) } }).flat()
  const outcome = await guard.check({ method: 'GET', url: '/reports', rawHeaders })
  expect(Object.keys(outcome)).toEqual(['kind', 'accessToken'])
  await guard.close()
})
