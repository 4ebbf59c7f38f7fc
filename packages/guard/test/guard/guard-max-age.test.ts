import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { createGuard, type Guard, type GuardOptions, type ScopeRequirement } from '../../src/index.js'
import { requireAccessToken } from '../../src/node.js'
import { protect } from '../../src/web.js'
import { advanceClock } from '../cached-introspector.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { ISSUER, live, RESOURCE } from '../guarded-api.js'

let server: FakeAuthorizationServer
beforeAll(async () => {
  server = await startFakeAuthorizationServer()
})
afterAll(() => server.close())
afterEach(() => {
  jest.restoreAllMocks()
})

const guards: Guard[] = []
afterEach(async () => {
  for (const guard of guards.splice(0)) await guard.close()
})

function build(change: Partial<GuardOptions> = {}): Guard {
  const introspection = {
    url: server.introspectionUrl,
    clientId: 'rs',
    clientSecret: 'secret',
    cache: { seconds: 600 }
  }
  const options = {
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    introspection
  } as const
  const guard = createGuard({ ...options, ...change })
  guards.push(guard)
  return guard
}

/** The response to a request with a token whose user signed in so many seconds ago, and the calls for it. */
async function check(guard: Guard, requirement?: ScopeRequirement, token = 'good') {
  const before = server.seen.introspections
  const rawHeaders = ['Authorization', `Bearer ${token}`]
  const outcome = await guard.check({ method: 'GET', url: '/', rawHeaders }, requirement)
  const calls = server.seen.introspections - before
  return { calls, answer: outcome.kind === 'accepted' ? 'accepted' : `${outcome.status} ${outcome.reason}`, outcome }
}

const signedInAgo = (seconds: number) =>
  server.answers.set('good', { ...live, auth_time: Math.floor(Date.now() / 1000) - seconds })

const TOO_OLD = '401 insufficient_user_authentication'

describe('maxAge', () => {
  test('of the guard holds for requirements without their own', async () => {
    signedInAgo(400)
    const guard = build({ maxAge: 300 })
    const answers: string[] = []
    for (const requirement of [undefined, ['files.read'], { allOf: [] }, { anyOf: ['files.read'] }]) {
      answers.push((await check(guard, requirement)).answer)
    }
    expect(answers).toEqual([TOO_OLD, TOO_OLD, TOO_OLD, TOO_OLD])
    expect((await check(guard, { allOf: ['files.read'], maxAge: 500 })).answer).toBe('accepted')
  })

  test('of a requirement is stricter than that of the guard, and stands in the challenge', async () => {
    signedInAgo(400)
    const guard = build({ maxAge: 500 })
    expect((await check(guard)).answer).toBe('accepted')
    const { answer, outcome } = await check(guard, { anyOf: ['files.read'], maxAge: 300 })
    expect(answer).toBe(TOO_OLD)
    expect(outcome).toMatchObject({ headers: { 'www-authenticate': expect.stringContaining('max_age="300"') } })
  })

  test('is in no other challenge', async () => {
    server.answers.set('good', { ...live, auth_time: 1, exp: 1 })
    const { outcome } = await check(build({ maxAge: 300 }))
    expect(outcome).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.not.stringContaining('max_age') }
    })
  })

  test('a handler gets the time of the sign-in, and none without auth_time', async () => {
    const guard = build()
    server.answers.set('good', { ...live, auth_time: 1_700_000_000 })
    expect((await check(guard)).outcome).toMatchObject({
      accessToken: { authenticatedAt: new Date(1_700_000_000_000) }
    })
    server.answers.set('silent', live)
    const { outcome } = await check(guard, [], 'silent')
    expect(outcome).not.toHaveProperty('accessToken.authenticatedAt')
  })

  test('a cached result is accepted until the sign-in is too old, without a call', async () => {
    signedInAgo(200)
    const guard = build()
    const requirement = { allOf: ['files.read'], maxAge: 300 }
    expect(await check(guard, requirement)).toMatchObject({ answer: 'accepted', calls: 1 })
    expect(await check(guard, requirement)).toMatchObject({ answer: 'accepted', calls: 0 })
    advanceClock(102_000)
    expect(await check(guard, requirement)).toMatchObject({ answer: TOO_OLD, calls: 0 })
    expect(await check(guard, ['files.read'])).toMatchObject({ answer: 'accepted', calls: 0 })
  })

  test.each([-3_600_000, 3_600_000])('the clock of the API, wrong by %s ms, does not matter', async (wrong) => {
    const guard = build({ now: () => new Date(Date.now() + Math.min(wrong, 0)) })
    server.clockAhead(Math.max(wrong, 0))
    const present = Math.floor((Date.now() + Math.max(wrong, 0)) / 1000)
    server.answers.set('recent', { ...live, auth_time: present - 100 })
    server.answers.set('old', { ...live, auth_time: present - 400 })
    const requirement = { allOf: [], maxAge: 300 }
    expect((await check(guard, requirement, 'recent')).answer).toBe('accepted')
    expect((await check(guard, requirement, 'old')).answer).toBe(TOO_OLD)
    server.clockAhead(0)
  })
})

test.each<{ name: string; requirement: object; message: string }>([
  { name: 'a misspelt maxAge', requirement: { allOf: [], maxage: 300 }, message: 'no member maxage' },
  { name: 'max_age', requirement: { anyOf: ['a'], max_age: 300 }, message: 'no member max_age' },
  { name: 'a maxAge with a fraction', requirement: { allOf: [], maxAge: 0.5 }, message: 'maxAge must be' },
  { name: 'a negative maxAge', requirement: { allOf: [], maxAge: -1 }, message: 'maxAge must be' },
  { name: 'a maxAge as text', requirement: { allOf: [], maxAge: '300' }, message: 'maxAge must be' }
])('a route with $name: a TypeError that names it', ({ requirement, message }) => {
  const guard = build()
  const wrong = requirement as { allOf: string[] }
  for (const make of [() => requireAccessToken(guard, wrong), () => protect(guard, wrong, () => new Response())]) {
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  }
})
