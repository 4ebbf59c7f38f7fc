import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createGuard, type Guard, type GuardOptions } from '../../src/index.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { ISSUER, live, RESOURCE } from '../guarded-api.js'

let server: FakeAuthorizationServer
beforeAll(async () => {
  server = await startFakeAuthorizationServer()
})
afterAll(() => server.close())

const guards: Guard[] = []
afterEach(async () => {
  for (const guard of guards.splice(0)) await guard.close()
})

function build(change: Partial<GuardOptions> = {}): Guard {
  const credentials = { clientId: 'rs', clientSecret: 'secret' }
  const guard = createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    introspection: { url: server.introspectionUrl, ...credentials, cache: { seconds: 600 } },
    ...change
  })
  guards.push(guard)
  return guard
}

/** The outcome for a token whose introspection response has these details. */
function check(guard: Guard, details: unknown) {
  server.answers.set('token', { ...live, authorization_details: details })
  return guard.check({ method: 'GET', url: '/', rawHeaders: ['Authorization', 'Bearer token'] }, ['files.read'])
}

const UNKNOWN = { kind: 'refused', status: 401, reason: 'unknown_authorization_details' }
const CHOSEN = { type: 'files', identifier: 'sel_1' }

describe('authorization details (RFC 9396)', () => {
  test('of a type that the API knows: the handler gets them, with all members, also from the cache', async () => {
    const guard = build({ authorizationDetailTypes: ['files'] })
    const details = [CHOSEN, { type: 'files', locations: ['https://files.example'] }]
    for (const turn of ['new', 'cached']) {
      const before = server.seen.introspections
      expect(await check(guard, details)).toMatchObject({ accessToken: { authorizationDetails: details } })
      expect(server.seen.introspections - before).toBe(turn === 'new' ? 1 : 0)
    }
  })

  test.each([
    { name: 'the API knows none', types: undefined, details: [CHOSEN] },
    { name: 'the API knows another type', types: ['albums'], details: [CHOSEN] },
    { name: 'one of two types is unknown', types: ['files'], details: [CHOSEN, { type: 'albums' }] },
    { name: 'types are compared exactly', types: ['Files'], details: [CHOSEN] }
  ])('$name: 401 invalid_token, also from the cache', async ({ types, details }) => {
    const guard = build(types && { authorizationDetailTypes: types })
    for (let turn = 0; turn < 2; turn += 1) {
      const outcome = await check(guard, details)
      expect(outcome).toMatchObject({ ...UNKNOWN, problem: { error: 'invalid_token' } })
      expect(JSON.stringify(outcome)).not.toContain('authorization details')
    }
  })

  test.each([undefined, []])('none (%j): accepted without the member', async (details) => {
    const outcome = await check(build(), details)
    expect(outcome).toMatchObject({ kind: 'accepted' })
    expect(outcome).not.toHaveProperty('accessToken.authorizationDetails')
  })

  test.each([
    { name: 'null', details: null },
    { name: 'an object', details: CHOSEN },
    { name: 'JSON as text', details: JSON.stringify([CHOSEN]) },
    { name: 'a list of texts', details: ['files'] },
    { name: 'a list with null', details: [CHOSEN, null] },
    { name: 'a list in a list', details: [[CHOSEN]] },
    { name: 'no type', details: [{ identifier: 'sel_1' }] },
    { name: 'a type that is no text', details: [{ type: 1 }] },
    { name: 'an identifier that is no text', details: [{ type: 'files', identifier: 1 }] }
  ])('$name: the response is unreadable, so 503', async ({ details }) => {
    const guard = build({ authorizationDetailTypes: ['files'] })
    expect(await check(guard, details)).toMatchObject({ kind: 'unavailable', reason: 'unreadable_response' })
  })
})
