import { expect, test } from '@jest/globals'
import { requestOf, tokensFor, useDiscovery } from '../../support/discovery.js'
import { dumpPostgres } from '../../support/dump-stores.js'
import { signedInBrowser } from '../../support/pages.js'
import { stopMonotonicClock } from '../../support/stopped-timers.js'

/** `e2e/client-ids-flood.mjs` sends 100,000. */
const IDS = 200

const world = useDiscovery()

/** All rows of Postgres except audit events, and the keys of Redis. */
async function stored() {
  const { audit_events: _audit, ...tables } = await dumpPostgres(world.server)
  return { tables, keys: (await world.server.redis.keys('*')).sort() }
}

const idAt = (index: number) => world.documents.urlOf(`/flood/${index}`)

test('200 client id URLs of anonymous requests: no connection, no row, no key; then an app works', async () => {
  const before = await stored()
  const statuses = new Set<number>()
  for (let index = 0; index < IDS; index++) {
    const answer = await world.server.newBrowser().get(requestOf(idAt(index)))
    statuses.add(answer.statusCode)
  }
  expect([...statuses]).toEqual([303])
  expect(world.documents.connections()).toBe(0)
  expect(await stored()).toEqual(before)
  const clientId = world.documents.publish('/after-the-flood')
  expect((await tokensFor(world, clientId)).statusCode).toBe(200)
})

test('60 client id URLs of one user: at most 20 fetches, no row; an app that is known works', async () => {
  const clientId = world.documents.publish('/known')
  await tokensFor(world, clientId)
  const rows = (await stored()).tables.clients
  const connections = world.documents.connections()
  const browser = await signedInBrowser(world.server)
  // Otherwise a second minute begins on a slow machine.
  const clock = stopMonotonicClock()
  for (let index = 0; index < 60; index++) await browser.get(requestOf(idAt(index)))
  clock.restart()
  expect(world.documents.connections() - connections).toBeLessThanOrEqual(20)
  expect((await stored()).tables.clients).toEqual(rows)
  expect((await world.server.redis.keys('vk:client-document-failure:*')).length).toBeLessThanOrEqual(20)
  expect((await tokensFor(world, clientId)).statusCode).toBe(200)
})

test('invented client id URLs at /token: invalid_client, and nothing is fetched', async () => {
  const connections = world.documents.connections()
  const answer = await world.server.publicServer.inject({
    method: 'POST',
    url: '/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ grant_type: 'authorization_code', client_id: idAt(0), code: 'x' }).toString()
  })
  expect(answer.json().error).toBe('invalid_client')
  expect(world.documents.connections()).toBe(connections)
})
