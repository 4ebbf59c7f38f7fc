import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createGuard, type Guard } from '../../src/index.js'
import { ISSUER, live, RESOURCE } from '../adapters/cases.js'
import { requestOf, send } from '../adapters/check-case.js'
import { ADAPTERS, type Adapter } from '../adapters/servers.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { until } from '../until.js'

let server: FakeAuthorizationServer
let guard: Guard
let apis: Awaited<ReturnType<Adapter['start']>>[]

beforeAll(async () => {
  server = await startFakeAuthorizationServer()
  server.answers.set('good', live)
  const { introspectionUrl: url, revocationsUrl } = server
  guard = createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    introspection: { url, clientId: 'rs', clientSecret: 'secret', cache: { seconds: 60, revocationsUrl } }
  })
  apis = await Promise.all(ADAPTERS.map(({ start }) => start(guard)))
  await until(() => guard.statistics()?.feed?.isVerified === true)
})
afterAll(async () => {
  await Promise.all(apis.map(({ close }) => close()))
  await guard.close()
  await server.close()
})

async function statuses(): Promise<number[]> {
  const request = requestOf({ headers: [['Authorization', 'Bearer good']] })
  const all: number[] = []
  for (const api of apis) all.push((await send(api, request)).status)
  return all
}

test('adapters of one guard share its cache, its feed connection and its counters', async () => {
  expect(await statuses()).toEqual(ADAPTERS.map(() => 200))
  expect([server.seen.introspections, server.seen.subscriptions, server.streams()]).toEqual([1, 1, 1])
  expect(guard.statistics()?.cache).toMatchObject({ hits: ADAPTERS.length - 1, misses: 1, entries: 1 })
})

test('one revocation event ends a token for all adapters', async () => {
  expect(await statuses()).toEqual(ADAPTERS.map(() => 200))
  server.answers.delete('good')
  server.revoke({ jti: live.jti })
  await until(async () => (await statuses()).every((status) => status === 401))
})
