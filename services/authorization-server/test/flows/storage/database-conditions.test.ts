import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type ConnectedDatabase, connectPostgres, findPooling } from '@valetkey/service-kit'
import { DatabaseError } from 'pg'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { bodyCredentials, PASSWORD, post, refresh } from '../../support/flow.js'
import { obtainTokens } from '../../support/tokens.js'

describe('conditions', () => {
  let server: TestServer
  let database: ConnectedDatabase
  /** Without a pooler, because the tests use prepared statements and locks of one connection. */
  let url: string

  beforeAll(async () => {
    server = await startTestServer()
    // One, so that each statement meets the connection of the one before.
    const { databaseUrl, databaseDirectUrl = databaseUrl } = server.config
    url = databaseDirectUrl
    database = connectPostgres(url, { connections: 1 })
    await run(`create function fail(state text) returns void language plpgsql as
    $$ begin raise exception 'as asked' using errcode = state; end $$`)
    await run('create sequence attempts')
    await run(`create function fail_once(state text) returns bigint language plpgsql as
    $$ begin if nextval('attempts') % 2 = 1 then perform fail(state); end if; return 1; end $$`)
  })
  afterAll(async () => {
    await database.close()
    await server.close()
  })

  type Row = Record<string, unknown>

  const run = (text: string, values: unknown[] = [], name = '') => database.query<Row>({ name, text, values })

  describe('SQLSTATE of a failed statement', () => {
    test.each([
      ['08006', 'a connection failure'],
      ['08P01', 'a protocol violation, as of a pooler'],
      ['25006', 'a read-only transaction'],
      ['25P02', 'a transaction that has failed'],
      ['26000', 'a prepared statement that is not there'],
      ['28P01', 'a wrong password'],
      ['3D000', 'no such database'],
      ['40001', 'a serialization failure'],
      ['40P01', 'a deadlock'],
      ['42P05', 'a prepared statement that is there already'],
      ['53100', 'a full disk'],
      ['53200', 'no memory'],
      ['55000', 'a state in which it cannot be done'],
      ['55P03', 'a lock that is not had in time'],
      ['57014', 'a statement that takes too long'],
      ['57P01', 'a shutdown'],
      ['58030', 'an I/O error'],
      ['XX000', 'an internal error'],
      ['XX001', 'corrupted data'],
      ['XX002', 'a corrupted index']
    ])('%s, %s: StoreUnavailable', async (state) => {
      await expect(run('select fail($1)', [state])).rejects.toMatchObject({
        name: 'StoreUnavailable',
        store: 'postgres'
      })
    })

    test.each(['22001', '23505', '23514', '42601', 'P0001'])('%s: the error of the statement', async (state) => {
      await expect(run('select fail($1)', [state])).rejects.toBeInstanceOf(DatabaseError)
    })

    test.each(['40001', '40P01', '26000', '42P05'])('%s: the statement is sent again once', async (state) => {
      expect(await run('select fail_once($1) as once', [state])).toEqual([{ once: '1' }])
    })

    test.each(['55P03', 'XX000'])('%s: the statement is not sent again', async (state) => {
      await expect(run('select fail_once($1) as once', [state])).rejects.toMatchObject({ name: 'StoreUnavailable' })
      await run("select nextval('attempts')")
    })
  })

  describe('a prepared statement of a connection', () => {
    test('whose columns a migration changed is prepared again', async () => {
      await run('create table changing (one int)')
      await run('insert into changing values (1)')
      expect(await run('select * from changing', [], 'read_changing')).toEqual([{ one: 1 }])
      await run('alter table changing add two int default 2')
      expect(await run('select * from changing', [], 'read_changing')).toEqual([{ one: 1, two: 2 }])
    })

    test('that the server dropped is prepared again', async () => {
      await run('select 1 as one', [], 'one')
      await run('deallocate all')
      expect(await run('select 1 as one', [], 'one')).toEqual([{ one: 1 }])
    })

    test('whose name another client prepared, as behind a pooler, is prepared on another connection', async () => {
      await run('prepare mine as select 2 as two')
      expect(await run('select 1 as one', [], 'mine')).toEqual([{ one: 1 }])
    })
  })

  test('two deadlocked statements both succeed, because the aborted one is sent again', async () => {
    await run('create table rows (id int primary key, count int)')
    await run('insert into rows values (1, 0), (2, 0)')
    const pool = connectPostgres(url, { connections: 2 })
    await run(`create function lock_both(first int, second int) returns void language plpgsql as $$
    declare others int;
    begin
      update rows set count = count + 1 where id = first;
      perform pg_advisory_lock_shared(4711);
      perform pg_advisory_unlock_shared(4711);
      update rows set count = count + 1 where id = second;
    end $$`)
    // Both have locked their first row before either requests its second.
    await run('select pg_advisory_lock(4711)')
    const lock = (...ids: number[]) => pool.query({ name: '', text: 'select lock_both($1, $2)', values: ids })
    const both = Promise.all([lock(1, 2), lock(2, 1)])
    const waiting = () =>
      run("select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted and objid = 4711")
    while ((await waiting())[0]?.count !== 2);
    await run('select pg_advisory_unlock(4711)')
    await both
    expect(await run('select count from rows order by id')).toEqual([{ count: 2 }, { count: 2 }])
    await pool.close()
  })

  describe('a revocation that Postgres aborts', () => {
    let client: Credentials
    beforeAll(async () => {
      await server.createUser('alice', PASSWORD)
      client = await server.createClient()
      await run(
        'create function refuse() returns trigger language plpgsql as $$ begin perform fail(tg_argv[0]); end $$'
      )
    })

    test.each(['26000', '40P01', '42P05', '55P03', 'XX000'])('because of %s: 503, not 500', async (state) => {
      const { refresh_token } = await obtainTokens(server, client)
      await run(`create trigger refuse before update on grants for each row execute function refuse('${state}')`)
      const revoke = () => post(server, '/oauth/revoke', { token: refresh_token, ...bodyCredentials(client) })
      try {
        const answer = await revoke()
        expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
        expect(answer.headers).toHaveProperty('retry-after')
      } finally {
        await run('drop trigger refuse on grants')
      }
      expect((await revoke()).statusCode).toBe(200)
      expect((await refresh(server, client, refresh_token)).statusCode).toBe(400)
    })
  })
})

describe('pooling', () => {
  let testDatabase: TestDatabase

  beforeAll(async () => {
    testDatabase = await createTestDatabase()
  })
  afterAll(() => testDatabase.drop())

  /** Nothing listens on port 1. */
  const withStoppedServer = (url: string) => url.replace(/@([^/]+)/, '@127.0.0.1:1,$1')

  test('of several servers, the first that responds is examined', async () => {
    expect(await findPooling(withStoppedServer(testDatabase.url))).toBe('direct')
  })

  test('if no server responds, the last error is thrown', async () => {
    const url = testDatabase.url.replace(/@[^/]+/, '@127.0.0.1:1,127.0.0.1:1')
    await expect(findPooling(url)).rejects.toThrow('ECONNREFUSED')
  })
})
