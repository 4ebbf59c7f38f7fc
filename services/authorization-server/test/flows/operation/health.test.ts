import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestRedis } from '@valetkey/dev-stack'
import { buildLogger, connectPostgres } from '@valetkey/service-kit'
import { buildApp } from '../../../src/app.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { wire } from '../../../src/wire/wire.js'
import { connectionsOf, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { atPort, freePort } from '../../support/failing-network.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

/** The response of `/readyz` of a separate instance, on these stores. */
async function readiness(databaseUrl: string, redis = server.redis) {
  const database = connectPostgres(databaseUrl, { ...connectionsOf(server.config), connections: 1 })
  const app = buildApp(
    { ...server.config, logger: buildLogger('test', 'silent') },
    wire(server.config, database, redis)
  )
  const answer = await app.operatorServer.inject('/readyz')
  await Promise.all([
    app.publicServer.close(),
    app.internalServer.close(),
    app.operatorServer.close(),
    database.close()
  ])
  return [answer.statusCode, answer.json().checks]
}

/** An instance without a LISTEN connection, which is reported but does not affect readiness. */
const announcements = 'unavailable'

test('/readyz: 200 while both stores respond', async () => {
  expect(await readiness(server.config.databaseUrl)).toEqual([
    200,
    { postgres: 'ok', clock: 'ok', redis: 'ok', announcements }
  ])
})

test('/readyz: stays 200 when Redis becomes unavailable; refreshes, revocation and introspection work', async () => {
  const { client: redis } = createTestRedis()
  const { operatorServer, ...others } = buildApp(
    { ...server.config, logger: buildLogger('test', 'silent') },
    wire(server.config, server.database, redis)
  )
  expect((await operatorServer.inject('/readyz')).json()).toMatchObject({ checks: { redis: 'ok' } })
  redis.disconnect()
  const answer = await operatorServer.inject('/readyz')
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    {
      status: 'degraded',
      checks: { postgres: 'ok', clock: 'ok', redis: 'unavailable', announcements },
      reasons: { redis: 'cannot be reached' }
    }
  ])
  await Promise.all([operatorServer, ...Object.values(others)].map((each) => each.close()))
})

test('/readyz: 503 with "postgres" when Postgres cannot be reached', async () => {
  const nowhere = atPort(server.config.databaseUrl, await freePort())
  expect(await readiness(nowhere)).toEqual([
    503,
    { postgres: 'unavailable', clock: 'unavailable', redis: 'ok', announcements }
  ])
})

test('/readyz: 503 when the database has not been migrated', async () => {
  const empty = new URL(server.config.databaseUrl)
  empty.pathname = '/postgres'
  expect(await readiness(empty.href)).toEqual([
    503,
    { postgres: 'unavailable', clock: 'ok', redis: 'ok', announcements }
  ])
})

test('/readyz: 503 with "redis" until Redis is first reached', async () => {
  const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const checks = { postgres: 'ok', clock: 'ok', redis: 'unavailable', announcements }
  expect(await readiness(server.config.databaseUrl, nowhere)).toEqual([503, checks])
  nowhere.disconnect()
})

test('/livez: 200 without any store', async () => {
  expect((await server.operatorServer.inject('/livez')).json()).toEqual({ status: 'ok' })
})
