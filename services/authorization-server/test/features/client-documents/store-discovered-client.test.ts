import { beforeEach, expect, test } from '@jest/globals'
import { createLimiter } from '../../../src/platform/rate-limits/limiter.js'
import { newClientLimit } from '../../../src/platform/rate-limits/rules.js'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { auditRows } from '../../support/audit-rows.js'
import { clearCounters } from '../../support/counters.js'
import { responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { codeFor, discoveredRows, exchangeOf, openRequest, tokensFor, useDiscovery } from './support/discovery.js'

const world = useDiscovery()

beforeEach(() => clearCounters(world.server))

async function userIdOf(username: string): Promise<string> {
  const text = 'select user_id from users where username = $1'
  const rows = await world.server.database.query<{ user_id: string }>({ name: '', text, values: [username] })
  return rows[0]?.user_id ?? ''
}

const rowsOf = async (clientId: string) =>
  (await discoveredRows(world)).filter(({ client_id }) => client_id === clientId)

test('after 50 new clients of the user in a day, Allow for another is 429 and writes no row; known ones still work', async () => {
  const { server, documents } = world
  const known = documents.publish('/known')
  const another = documents.publish('/one-too-many')
  const userId = await userIdOf('alice')
  const limiter = createLimiter(createAttemptCounterStore(server.redis), 1)
  for (let allowed = 1; allowed <= 49; allowed++) await limiter.count(newClientLimit(userId))
  expect((await tokensFor(world, known)).statusCode).toBe(200)

  const { browser, page } = await openRequest(world, another)
  const answer = await browser.submitOnly(page, { decision: 'allow' })
  expect([answer.statusCode, answer.headers.location]).toEqual([429, undefined])
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(86_000)
  expect(visibleText(answer.body)).toContain('Too many new apps today')
  expect(await rowsOf(another)).toEqual([])
  const refused = (await auditRows(server)).filter(({ event }) => event === 'authorization_refused')
  expect(refused).toEqual([
    expect.objectContaining({ client_id: another, user_id: userId, details: { reason: 'too_many_new_clients' } })
  ])

  expect((await tokensFor(world, known)).statusCode).toBe(200)
  // The same request can still be denied.
  const denied = await browser.submitOnly(page, { decision: 'deny' })
  expect(responseParameters(denied)).toMatchObject({ error: 'access_denied' })
})

test('housekeeping between a later Allow and its exchange keeps the row of the client', async () => {
  const { server, documents } = world
  const clientId = documents.publish('/allowed-later')
  const run = (text: string) => server.database.query({ name: '', text, values: [clientId] })
  await tokensFor(world, clientId)
  await run('delete from grants where client_id = $1')
  await run(
    "update clients set created_at = now() - interval '9 days', last_allowed_at = now() - interval '9 days' where client_id = $1"
  )

  const code = await codeFor(world, clientId)
  await createExpiredRows(server.database).deleteSome()
  expect((await exchangeOf(world, clientId, code)).statusCode).toBe(200)
})

test('an Allow within an hour of the last one writes no row', async () => {
  const clientId = world.documents.publish('/allowed-twice')
  const text = 'select xmin::text as version from clients where client_id = $1'
  const version = () => world.server.database.query({ name: '', text, values: [clientId] })
  await codeFor(world, clientId)
  const before = await version()
  await codeFor(world, clientId)
  expect(await version()).toEqual(before)
})
