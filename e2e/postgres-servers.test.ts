import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  connectPostgres,
  type Database,
  migrate,
  openNotificationChannel,
  StoreUnavailable
} from '../packages/service-kit/src/index.js'
import { startPostgresPair, startSmallPostgres } from './system/stores/postgres-servers.mjs'
import { openWorkshop, type Workshop } from './system/workshop.mjs'

const MIGRATIONS = path.resolve(import.meta.dirname, '../services/authorization-server/migrations')

let workshop: Workshop
const databases: Database[] = []
beforeAll(() => {
  workshop = openWorkshop()
})
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await workshop.close()
})

function connect(url: string): Database {
  const database = connectPostgres(url, { connections: 3, plans: 'kept by index' })
  databases.push(database)
  return database
}

const ask = async <Row extends Record<string, unknown>>(database: Database, text: string) =>
  (await database.query<Row>({ name: '', text, values: [] }))[0]

describe('a URL that names a primary and its standby', () => {
  let pair: Awaited<ReturnType<typeof startPostgresPair>>
  let url: string
  beforeAll(async () => {
    pair = await startPostgresPair({ ...workshop, prepare: (superuser) => migrate(superuser, MIGRATIONS) })
    const [primary, standby] = pair.ports
    // The standby comes first: a client that does not check for a standby would stay connected to it.
    url = pair.standbyUrl.replace(/@[^/]+/, `@127.0.0.1:${standby},127.0.0.1:${primary}`)
  })

  test('pool, migrations and notifications use the primary, in any order of the hosts', async () => {
    const [port] = pair.ports
    expect(await ask(connect(`${url}?target_session_attrs=read-write`), 'select inet_server_port() as port')).toEqual({
      port
    })
    expect(await migrate(url, MIGRATIONS)).toEqual([])
    const heard: string[] = []
    const channel = await openNotificationChannel(
      url,
      ['test_channel'],
      (payload) => heard.push(payload),
      () => {}
    )
    await channel.notify('hello')
    while (heard.length === 0) await wait(10)
    await channel.close()
    expect(heard).toEqual(['hello'])
  })

  test('without the primary Postgres is unavailable; after the promotion of the standby the same pool writes there', async () => {
    const database = connect(url)
    await ask(database, "insert into scopes (name, title, description, built_in) values ('a.b', 'A', '', false)")
    const caughtUp = 'select bool_and(replay_lsn >= pg_current_wal_lsn()) as done from pg_stat_replication'
    while ((await ask(database, caughtUp))?.done !== true) await wait(10)
    await pair.stopPrimary()
    await expect(ask(database, 'select 1 as one')).rejects.toThrow(StoreUnavailable)
    const standby = connect(pair.standbyUrl)
    await ask(standby, 'select pg_promote()')
    expect(await ask(database, "update scopes set title = 'B' where name = 'a.b' returning title")).toEqual({
      title: 'B'
    })
    expect(await ask(database, 'select inet_server_port() as port')).toEqual({ port: pair.ports[1] })
  })
})

test('a server with fewer connections (max_connections) than two pools: every statement succeeds', async () => {
  const { url } = await startSmallPostgres({ ...workshop, maxConnections: 8 })
  const pools = [0, 1].map(() => {
    const pool = connectPostgres(url, { connections: 10 })
    databases.push(pool)
    return pool
  })
  // Each service has a connection before the other uses all remaining ones.
  await Promise.all(pools.map((pool) => ask(pool, 'select 1')))
  const asked = pools.flatMap((pool) =>
    Array.from({ length: 32 }, async () => {
      for (let count = 0; count < 10; count++) await ask(pool, 'select pg_sleep(0.002)')
    })
  )
  await Promise.all(asked)
  expect(pools.reduce((sum, pool) => sum + pool.pool().most, 0)).toBeLessThanOrEqual(10)
})
