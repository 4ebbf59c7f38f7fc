import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { makeProof } from '../../../dev-stack/lib/client/dpop-proof.mjs'
import { bearerPlugin } from '../../src/fastify/index.js'
import { createGuard, type Guard, type GuardOptions } from '../../src/index.js'
import { checkRequest, protect } from '../../src/web.js'
import { ISSUER, RESOURCE } from '../adapters/cases.js'
import { bound, dpop, KEY, URL_OF_REPORTS } from '../adapters/dpop-cases.js'
import { type FakeEndpoint, json, startFakeEndpoint } from '../fake-introspection-endpoint.js'

let endpoint: FakeEndpoint
let guard: Guard | undefined
let logged: Record<string, unknown>[] = []
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
beforeEach(async () => {
  await guard?.close()
  logged = []
  endpoint.answers(json(bound))
})
afterAll(async () => {
  await guard?.close()
  await endpoint.close()
})

const record = (members: object) => logged.push({ ...members })
const log = { info: record, warn: record, error: record }

function build(change: Partial<GuardOptions> = {}): Guard {
  const introspection = { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  const options = {
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    dpop: {},
    log
  } as const
  guard = createGuard({ ...options, introspection, ...change })
  return guard
}

const requestWith = (headers = dpop()) => ({ method: 'GET', url: '/reports', rawHeaders: headers.flat() })

describe('A request that is checked twice', () => {
  test('uses its proof once, also if the token is checked again later', async () => {
    const request = requestWith()
    const twice = await Promise.all([build().check(request), guard?.check(request, ['reports.read'])])
    expect(twice.map((outcome) => outcome?.kind)).toEqual(['accepted', 'accepted'])
    endpoint.answers(json({ active: false }))
    expect(await guard?.check(request)).toMatchObject({ kind: 'refused', reason: 'not_active' })
  })

  test('is another request if another list has the same headers', async () => {
    const { rawHeaders, ...rest } = requestWith()
    await build().check({ ...rest, rawHeaders })
    expect(await guard?.check({ ...rest, rawHeaders: [...rawHeaders] })).toMatchObject({ reason: 'proof_used' })
  })

  test('by two hooks of Fastify is accepted', async () => {
    const app = fastify()
    await app.register(bearerPlugin, { guard: build() })
    app.addHook('onRequest', app.requireAccessToken())
    app.get('/reports', { onRequest: app.requireAccessToken('reports.read') }, async ({ accessToken }) => accessToken)
    const { statusCode, body } = await app.inject({ url: '/reports', headers: Object.fromEntries(dpop()) })
    expect([statusCode, JSON.parse(body).keyThumbprint]).toEqual([200, KEY.thumbprint])
    await app.close()
  })

  test('by two guards of Hono is accepted', async () => {
    const inner = protect(build(), ['reports.read'], () => new Response('ok'))
    const outer = protect(guard as Guard, [], (request) => inner(request))
    const app = new Hono().get('/reports', ({ req }) => outer(req.raw))
    const headers = Object.fromEntries(dpop())
    expect(await (await app.request(URL_OF_REPORTS, { headers })).text()).toBe('ok')
  })

  test('is judged anew if its headers were changed', async () => {
    const request = new Request(URL_OF_REPORTS, { headers: Object.fromEntries(dpop()) })
    expect(await checkRequest(build(), request)).toMatchObject({ kind: 'accepted' })
    request.headers.set('dpop', 'x')
    expect(await checkRequest(guard as Guard, request)).toMatchObject({ reason: 'proof_not_a_jws' })
  })
})

test.each([
  { name: 'proof', from: /^ey/, to: 'x', reason: 'proof_not_a_jws' },
  { name: 'token', from: /^DPoP /, to: 'DPoP other', reason: 'proof_ath' }
])('A list of headers in which the $name was replaced is judged anew', async ({ from, to, reason }) => {
  const request = requestWith()
  expect(await build().check(request)).toMatchObject({ kind: 'accepted' })
  request.rawHeaders.splice(
    request.rawHeaders.findIndex((value) => from.test(value)),
    1,
    to
  )
  expect(await guard?.check(request)).toMatchObject({ reason })
})

test('Fastify with rewriteUrl compares the path that the client called', async () => {
  const app = fastify({ rewriteUrl: () => '/inner' })
  await app.register(bearerPlugin, { guard: build() })
  app.get('/inner', { onRequest: app.requireAccessToken() }, async () => 'ok')
  const { body } = await app.inject({ url: '/reports', headers: Object.fromEntries(dpop()) })
  expect(body).toBe('ok')
  await app.close()
})

test('A store of used proofs that is away is 503, and the log has the reason', async () => {
  const firstUse = () => Promise.reject(new Error('away'))
  const outcome = await build({ dpop: { replayStore: { firstUse } } }).check(requestWith())
  expect(outcome).toMatchObject({ kind: 'unavailable', status: 503, retryAfter: 2, reason: 'replay_store' })
  expect(logged).toEqual([{ event: 'proofs_unavailable', reason: 'replay_store', err: expect.any(Error) }])
})

test('Two guards with one store accept a proof that both get at once only once', async () => {
  const seen = new Set<string>()
  const replayStore = { firstUse: async (key: string) => seen.size !== seen.add(key).size }
  const guards = [build({ dpop: { replayStore } })]
  guard = undefined
  guards.push(build({ dpop: { replayStore } }))
  const headers = dpop()
  const outcomes = await Promise.all(guards.map((one) => one.check(requestWith(headers))))
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['accepted', 'refused'])
  await guards[0]?.close()
})

test('A sign-in that is too old is an error of the scheme DPoP, after the proof (RFC 9470 §3)', async () => {
  endpoint.answers(json({ ...bound, auth_time: Math.floor(Date.now() / 1_000) - 600 }))
  const outcome = await build({ maxAge: 300 }).check(requestWith())
  expect(outcome).toMatchObject({ status: 401, reason: 'insufficient_user_authentication' })
  expect(outcome).toMatchObject({
    challenges: [
      expect.not.stringContaining('max_age'),
      expect.stringMatching(/^DPoP .*max_age="300", error="insufficient_user_authentication"/)
    ]
  })
  expect(await guard?.check(requestWith(dpop({ claims: { htm: 'POST' } })))).toMatchObject({ reason: 'proof_htm' })
  expect(await guard?.check(requestWith(), { allOf: [], maxAge: 900 })).toMatchObject({
    accessToken: { authenticatedAt: expect.any(Date), keyThumbprint: KEY.thumbprint }
  })
})

test('a bound token with details of a type that the API does not know: 401 invalid_token (RFC 9396 §9)', async () => {
  endpoint.answers(json({ ...bound, authorization_details: [{ type: 'files', identifier: 'a' }] }))
  const refused = { kind: 'refused', status: 401, reason: 'unknown_authorization_details' }
  expect(await build().check(requestWith())).toMatchObject(refused)
  const accepted = { kind: 'accepted', accessToken: { authorizationDetails: [{ type: 'files', identifier: 'a' }] } }
  expect(await build({ authorizationDetailTypes: ['files'] }).check(requestWith())).toMatchObject(accepted)
})

test('The clock of the API decides about the time of a proof', async () => {
  const late = build({ now: () => new Date(Date.now() + 310_000) })
  expect(await late.check(requestWith())).toMatchObject({ reason: 'proof_iat' })
})

test('Tokens of Valetkey have a checksum, so a made-up one is refused without a call', async () => {
  const outcome = await build({ tokenFormat: 'valetkey' }).check(requestWith())
  expect([outcome, endpoint.calls]).toEqual([expect.objectContaining({ reason: 'never_issued' }), []])
})

test('Without the option, the guard asks for a bearer token, and reads no proof', async () => {
  const outcome = await build({ dpop: undefined as never }).check(requestWith())
  expect(outcome).toMatchObject({
    status: 401,
    reason: 'no_credentials',
    challenges: [expect.stringMatching(/^Bearer /)]
  })
  expect([endpoint.calls, guard?.dpop, guard?.replayStatistics()]).toEqual([[], undefined, undefined])
  const proof = makeProof({ key: KEY, accessToken: 'abc', url: URL_OF_REPORTS })
  const asBearer = { method: 'GET', url: '/reports', rawHeaders: ['Authorization', 'Bearer abc', 'DPoP', proof] }
  expect(await guard?.check(asBearer)).toMatchObject({ reason: 'other_type' })
})

test('The statistics count the remembered proofs', async () => {
  await build().check(requestWith())
  expect(guard?.replayStatistics()).toMatchObject({ entries: 1, capacity: 1_200_000, refusedFull: 0 })
})
