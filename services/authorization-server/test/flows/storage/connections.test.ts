import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import {
  type ConnectedDatabase,
  connectPostgres,
  createStoreState,
  type Database,
  LONG_STATEMENT_MS,
  openNotificationChannel,
  StoreUnavailable
} from '@valetkey/service-kit'
import { Client } from 'pg'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { collectLog } from '../../support/log-lines.js'

/** The limit of a statement that gets no response or no connection; the others end only if they hang. */
const STATEMENT_MS = 1_000
/** A slow machine does not reach it. */
const HANG_MS = 150_000

let testDatabase: TestDatabase
let owner: Client

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  owner = new Client({ connectionString: testDatabase.url })
  await owner.connect()
})
afterAll(async () => {
  await owner.end()
  await testDatabase.drop()
})

describe('limit of connections', () => {
  let role: string
  let url: string
  let open: ConnectedDatabase[]

  beforeAll(async () => {
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
})

describe('silent connections', () => {
  const CONNECTIONS = 5
  let network: FailingNetwork
  let database: ConnectedDatabase
  beforeEach(async () => {
    network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
    const url = atPort(testDatabase.url, network.port)
    database = connectPostgres(url, { connections: CONNECTIONS, statementMs: HANG_MS, connectMs: HANG_MS })
    await Promise.all(Array.from({ length: CONNECTIONS }, ask))
  })
  afterEach(async () => {
    await network.close()
    await database.close()
  })

  const statement = { name: '', text: 'select pg_sleep(0.05)', values: [] }
  const ask = () => database.query(statement)
  const askInVain = () =>
    expect(database.query({ ...statement, withinMs: STATEMENT_MS })).rejects.toThrow(StoreUnavailable)

  test('a server that stops without closing its connections fails one statement, not one for each idle connection', async () => {
    expect(database.pool()).toMatchObject({ idle: CONNECTIONS })
    network.strand()
    await askInVain()
    // Each of the idle connections would fail one of these.
    for (let count = 0; count < CONNECTIONS; count++) await ask()
  })

  test('connections that were used since a statement got no response stay open', async () => {
    const askPid = async () => {
      const rows = await database.query<{ pid: number }>({
        name: '',
        text: 'select pg_backend_pid() as pid',
        values: []
      })
      return rows[0]?.pid
    }
    const first = await askPid()
    network.strand()
    await askInVain()
    const second = await askPid()
    expect(second).not.toBe(first)
    expect(await askPid()).toBe(second)
  })
})

describe('wait for a connection', () => {
  const ask = { name: 'test_one', text: 'select 1 as one', values: [] }

  test('a statement that waits for a connection fails at its time limit, and the connection serves the next one', async () => {
    const network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
    network.hold()
    const url = atPort(testDatabase.url, network.port)
    const database = connectPostgres(url, { connections: 1, statementMs: STATEMENT_MS, connectMs: HANG_MS })
    await expect(database.query(ask)).rejects.toThrow(StoreUnavailable)
    network.release()
    expect(await database.query(ask)).toEqual([{ one: 1 }])
    expect(database.pool()).toMatchObject({ inUse: 0, idle: 1 })
    await database.close()
    await network.close()
  })
})

describe('refused login', () => {
  let role: string
  beforeAll(async () => {
    role = `service_${new URL(testDatabase.url).pathname.slice(1)}`
    await owner.query(`create role ${role} login password 'secret'`)
  })
  afterAll(async () => {
    await owner.query(`drop role ${role}`)
  })

  async function connected(url: URL, use: (database: Database) => Promise<void>): Promise<void> {
    const database = connectPostgres(url.href, { connections: 1 })
    await use(database).finally(() => database.close())
  }

  const ask = (database: Database) => database.query({ name: 'one', text: 'select 1 as one', values: [] })
  const UNAVAILABLE = { name: 'StoreUnavailable' }

  test('a role that may not log in any more: Postgres is unavailable until it may', async () => {
    const url = new URL(testDatabase.url)
    url.username = role
    url.password = 'secret'
    await owner.query(`alter role ${role} nologin`)
    await connected(url, async (database) => {
      await expect(ask(database)).rejects.toMatchObject(UNAVAILABLE)
      await owner.query(`alter role ${role} login`)
      expect(await ask(database)).toEqual([{ one: 1 }])
    })
  })

  test('a missing database, as during a restore: Postgres is unavailable', async () => {
    const url = new URL(testDatabase.url)
    url.pathname = '/there_is_no_such_database'
    await connected(url, async (database) => {
      await expect(ask(database)).rejects.toMatchObject(UNAVAILABLE)
    })
  })
})

describe('long statements', () => {
  let database: ConnectedDatabase

  beforeAll(async () => {
    database = connectPostgres(testDatabase.url, { connections: 1 })
    await database.query({ name: '', text: SLOW_COMMIT, values: [] })
  })
  afterAll(async () => {
    await database.close()
  })

  /** A commit takes longer than preparing a connection may take, as when a standby is slow to confirm it. */
  const SLOW_COMMIT = `do $$ begin
  create table kept (id integer);
  create function wait_at_commit() returns trigger language plpgsql as 'begin perform pg_sleep(1.3); return null; end';
  create constraint trigger wait after insert on kept deferrable initially deferred
    for each row execute function wait_at_commit();
end $$`

  test('a statement with a long time limit succeeds although its commit takes more than a second', async () => {
    const insert = { name: 'test_keep', text: 'insert into kept values (1) returning id', values: [] }
    expect(await database.query({ ...insert, withinMs: LONG_STATEMENT_MS })).toEqual([{ id: 1 }])
    expect(await database.query({ name: 'test_kept', text: 'select id from kept', values: [] })).toEqual([{ id: 1 }])
  })
})
