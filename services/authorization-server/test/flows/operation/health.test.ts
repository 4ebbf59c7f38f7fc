import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestRedis } from '@valetkey/dev-stack'
import { buildLogger, checkWritable, connectPostgres, problemOf } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { buildApp } from '../../../src/app.js'
import { FEATURES } from '../../../src/features.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { wire } from '../../../src/wire/wire.js'
import {
  type Credentials,
  connectionsOf,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { atPort } from '../../support/failing-network.js'
import { exchange, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { listenUrlOf } from '../../support/instance.js'
import { expectOutage } from '../../support/refusals.js'
import { bucketsOf } from '../../support/token-tables.js'
import { isActive, obtainTokens, pairOf } from '../../support/tokens.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

describe('health', () => {
  /** The response of `/readyz` of a separate instance, on these stores. */
  async function readiness(databaseUrl: string, redis = server.redis) {
    const database = connectPostgres(databaseUrl, { ...connectionsOf(server.config), connections: 1 })
    const app = buildApp(
      { ...server.config, logger: buildLogger('test', 'silent') },
      wire(server.config, database, redis, { features: FEATURES })
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
      wire(server.config, server.database, redis, { features: FEATURES })
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
})

describe('a missing table of access tokens', () => {
  let resourceServer: Credentials

  const run = <Row extends Record<string, unknown>>(text: string) =>
    server.database.query<Row>({ name: '', text, values: [] })

  beforeAll(async () => {
    resourceServer = await server.createResourceServer()
  })
  beforeEach(dropTables)

  async function dropTables(): Promise<void> {
    for (const bucket of await bucketsOf({ run })) await run(`drop table access_tokens_${bucket}`)
  }

  async function whileNoTableCanBeMade(work: () => Promise<void>): Promise<void> {
    await run('alter function make_access_token_buckets rename to make_nothing')
    try {
      await work()
    } finally {
      await run('alter function make_nothing rename to make_access_token_buckets')
    }
  }

  test('an exchange whose token table cannot be created: 503, and the repeated exchange succeeds', async () => {
    const code = await obtainCode(server, client)
    await whileNoTableCanBeMade(async () => expectOutage(await exchange(server, client, code)))
    const pair = pairOf(await exchange(server, client, code))
    expect(await isActive(server, resourceServer, pair.access_token)).toBe(true)
  })

  test('a refresh whose token table cannot be created: 503, and the repeated refresh succeeds', async () => {
    const { refresh_token } = await obtainTokens(server, client)
    await dropTables()
    await whileNoTableCanBeMade(async () => expectOutage(await refresh(server, client, refresh_token)))
    const pair = pairOf(await refresh(server, client, refresh_token))
    expect(await isActive(server, resourceServer, pair.access_token)).toBe(true)
  })

  test('a token whose table was dropped is inactive', async () => {
    const { access_token } = await obtainTokens(server, client)
    await dropTables()
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
  })
})

describe('a database that is not prepared', () => {
  const run = (text: string) => server.database.query({ name: '', text, values: [] })

  test.each([
    {
      name: 'a table is missing',
      begin: 'alter table refresh_tokens rename to moved',
      end: 'alter table moved rename to refresh_tokens'
    },
    {
      name: 'a column is missing',
      begin: 'alter table refresh_tokens rename rotated_at to moved',
      end: 'alter table refresh_tokens rename moved to rotated_at'
    }
  ])('while $name, a refresh is 503; afterwards it succeeds', async ({ begin, end }) => {
    const { refresh_token } = await obtainTokens(server, client)
    const form = {
      grant_type: 'refresh_token',
      refresh_token,
      client_id: client.clientId,
      client_secret: client.clientSecret
    }
    await run(begin)
    const refused = await post(server, '/token', form)
    await run(end)
    expect([refused.statusCode, refused.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(refused.headers['retry-after']).toBeDefined()
    expect((await post(server, '/token', form)).statusCode).toBe(200)
  })

  test('while a table is missing, the readiness check fails', async () => {
    await run('alter table users rename to moved')
    await expect(checkWritable(server.database, ['users'])).rejects.toThrow()
    await run('alter table moved rename to users')
    await expect(checkWritable(server.database, ['users', 'grants'])).resolves.toBeUndefined()
  })

  test('a read-only database fails the readiness check, which names the reason', async () => {
    const url = new URL(listenUrlOf(server.config))
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const readOnly = connectPostgres(url.href, { connections: 1 })
    const failure = await checkWritable(readOnly, ['users']).catch((error: unknown) => error)
    await readOnly.close()
    expect(problemOf(failure)).toMatchObject({ reason: 'takes no writes' })
  })
})
