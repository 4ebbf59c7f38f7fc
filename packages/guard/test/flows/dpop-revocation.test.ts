import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createGuard } from '../../src/index.js'
import { ISSUER, RESOURCE } from '../adapters/cases.js'
import { bound, dpop } from '../adapters/dpop-cases.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { until } from '../until.js'

let server: FakeAuthorizationServer
beforeAll(async () => {
  server = await startFakeAuthorizationServer()
})
afterAll(() => server.close())

test('A bound token that is cached and was revoked is refused, although its proof is right', async () => {
  server.answers.set('abc', bound)
  const guard = createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    dpop: {},
    introspection: {
      url: server.introspectionUrl,
      clientId: 'rs',
      clientSecret: 'secret',
      timeoutMs: 60_000,
      cache: { seconds: 60, revocationsUrl: server.revocationsUrl }
    }
  })
  await until(() => guard.statistics()?.feed?.isVerified === true)
  const check = () => guard.check({ method: 'GET', url: '/reports', rawHeaders: dpop().flat() })
  expect(await check()).toMatchObject({ kind: 'accepted' })
  const { introspections } = server.seen
  expect(await check()).toMatchObject({ kind: 'accepted' })
  expect(server.seen.introspections).toBe(introspections)
  server.answers.set('abc', { active: false })
  server.revoke({ jti: bound.jti })
  await until(async () => (await check()).kind === 'refused')
  expect(await check()).toMatchObject({ status: 401, reason: 'not_active' })
  await guard.close()
})
