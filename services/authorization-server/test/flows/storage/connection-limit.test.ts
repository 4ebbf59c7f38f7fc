import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import {
  type ConnectedDatabase,
  connectPostgres,
  createStoreState,
  openNotificationChannel
} from '@valetkey/service-kit'
import { Client } from 'pg'
import { collectLog } from '../../support/log-lines.js'

/** A slow machine does not reach it. */
const HANG_MS = 150_000

let testDatabase: TestDatabase
let owner: Client
let role: string
let url: string
let open: ConnectedDatabase[]

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  owner = new Client({ connectionString: testDatabase.url })
  await owner.connect()
  role = `limited_${new URL(testDatabase.url).pathname.slice(1)}`
  await owner.query(`create role ${role} login password 'secret'`)
  const limited = new URL(testDatabase.url)
  limited.username = role
  limited.password = 'secret'
  url = limited.href
  open = []
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()))
  await owner.query(`alter role ${role} connection limit -1`)
  const database = new URL(testDatabase.url).pathname.slice(1)
  await owner.query(`alter database ${database} connection limit -1`)
  await until(async () => (await connections()) === 0)
})
afterAll(async () => {
  await owner.query(`drop role ${role}`)
  await owner.end()
  await testDatabase.drop()
})

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await sleep(5)
}

async function connections(): Promise<number> {
  const { rows } = await owner.query('select count(*)::int as count from pg_stat_activity where usename = $1', [role])
  return rows[0].count
}

function connect(log = collectLog()) {
  const state = createStoreState('postgres', log.logger)
  const database = connectPostgres(url, { connections: 10, state, statementMs: HANG_MS, connectMs: HANG_MS })
  open.push(database)
  return { database, log }
}

const work = { name: 'work', text: 'select pg_sleep(0.002)', values: [] }

/** Many concurrent statements, several times; @returns the errors */
async function load(databases: readonly ConnectedDatabase[], statements: number): Promise<unknown[]> {
  const errors: unknown[] = []
  const workers = databases.flatMap((database) =>
    Array.from({ length: 32 }, async () => {
      for (let count = 0; count < statements; count++) {
        await database.query(work).catch((error: unknown) => errors.push(error))
      }
    })
  )
  await Promise.all(workers)
  return errors
}

test('two pools of 10 with a role limited to 6 connections: every statement succeeds', async () => {
  await owner.query(`alter role ${role} connection limit 6`)
  const [one, other] = [connect(), connect()]
  // Each has one before the other takes all.
  await Promise.all([one.database.query(work), other.database.query(work)])
  expect(await load([one.database, other.database], 20)).toEqual([])
  expect(one.database.pool().most + other.database.pool().most).toBeLessThan(20)
  for (const { log } of [one, other]) {
    const lines = log.lines.filter(({ event }) => event === 'postgres_connection_limit')
    expect(lines.length).toBeLessThanOrEqual(1)
  }
})

test('a pool larger than the limit of the database: every statement waits for a connection, and one log line reports it', async () => {
  const database = new URL(testDatabase.url).pathname.slice(1)
  // The owner's own connection counts as well, though a superuser is not refused.
  await owner.query(`alter database ${database} connection limit 4`)
  const one = connect()
  expect(await load([one.database], 20)).toEqual([])
  const lines = one.log.lines.filter(({ event }) => event === 'postgres_connection_limit')
  expect(lines).toMatchObject([{ level: 'warn', wanted: 10, remedy: expect.stringContaining('max_connections') }])
})

test('the pool grows again when more connections are allowed', async () => {
  await owner.query(`alter role ${role} connection limit 2`)
  const { database } = connect()
  expect(await load([database], 5)).toEqual([])
  expect(database.pool().most).toBeLessThan(10)
  await owner.query(`alter role ${role} connection limit -1`)
  await until(async () => {
    await load([database], 1)
    return database.pool().most === 10
  })
})

test('no connection available: a statement waits for a short time, then Postgres is unavailable', async () => {
  await owner.query(`alter role ${role} connection limit 1`)
  const holder = connect()
  await holder.database.query(work)
  const { database } = connect()
  await expect(database.query({ ...work, withinMs: 500 })).rejects.toMatchObject({ name: 'StoreUnavailable' })
  const waiting = database.query(work)
  await holder.database.close()
  open.splice(open.indexOf(holder.database), 1)
  await waiting
})

test('the LISTEN connection is taken from the pool of its process', async () => {
  await owner.query(`alter role ${role} connection limit 3`)
  const { database } = connect()
  // Postgres may still count a connection of the test before, so the pool may first find a lower limit.
  await until(async () => {
    await load([database], 5)
    return database.pool().most === 3
  })
  const listen = () =>
    openNotificationChannel(
      url,
      ['any'],
      () => {},
      () => {},
      { makeRoom: database.giveUpOne }
    )
  let channel: Awaited<ReturnType<typeof listen>> | undefined
  const stop = new AbortController()
  const busy = (async () => {
    while (!stop.signal.aborted) expect(await load([database], 1)).toEqual([])
  })()
  await until(async () => {
    channel = await listen().catch(() => undefined)
    return channel !== undefined
  })
  stop.abort()
  await busy
  await channel?.close()
})
