import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { type Database, type NotificationChannel, openNotificationChannel } from '@valetkey/service-kit'
import { Client } from 'pg'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { atPort, startFailingNetwork } from '../../support/failing-network.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { type ObservedDatabase, openObservedDatabase } from '../../support/received-endings.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { PACE } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let world: ObservedDatabase
const now = new Date()

beforeAll(async () => {
  world = await openObservedDatabase()
})
afterAll(() => world.close())

describe('announcements', () => {
  let grant: StoredGrant
  beforeEach(async () => {
    grant = await storeGrant(world.database, now)
    await world.announced()
  })

  /** The event as announced with the audience of the grant. */
  const ended = (data: object) => ({ ...data, audience: 'https://files.example' })

  test('deleting a grant with expired first tokens and active refreshed tokens sends a notification', async () => {
    await world.operator.query(
      `update grants set expires_at = now() - interval '1 hour', extended_until = now() + interval '1 hour'
      where grant_id = $1`,
      [grant.grantId]
    )
    await world.operator.query('delete from grants where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toEqual([ended({ grant_id: grant.grantId })])
  })

  describe('the transaction that commits the change sends a notification', () => {
    test.each<{ name: string; sql: string; by(): string; data(): object }>([
      {
        name: 'an access token is revoked',
        sql: 'update access_tokens set revoked_at = now() where token_id = $1',
        by: () => grant.access.tokenId,
        data: () => ended({ jti: grant.access.tokenId })
      },
      {
        name: 'an active access token is deleted',
        sql: 'delete from access_tokens where token_id = $1',
        by: () => grant.access.tokenId,
        data: () => ended({ jti: grant.access.tokenId })
      },
      {
        name: 'a grant is ended',
        sql: 'update grants set ended_at = now() where grant_id = $1',
        by: () => grant.grantId,
        data: () => ended({ grant_id: grant.grantId })
      },
      {
        name: 'an active grant is deleted',
        sql: 'delete from grants where grant_id = $1',
        by: () => grant.grantId,
        data: () => ended({ grant_id: grant.grantId })
      },
      {
        name: 'the generation of a user is raised',
        sql: 'update users set generation = generation + 1 where user_id = $1',
        by: () => grant.userId,
        data: () => ({ sub: grant.userId })
      },
      {
        name: 'a user is deleted',
        sql: 'delete from users where user_id = $1',
        by: () => grant.userId,
        data: () => ({ sub: grant.userId })
      },
      {
        name: 'the generation of a client is raised',
        sql: 'update clients set generation = generation + 1 where client_id = $1',
        by: () => grant.clientId,
        data: () => ({ client_id: grant.clientId })
      },
      {
        name: 'the number of all authorizations of a user is raised',
        sql: 'update users set authorization_generation = authorization_generation + 1 where user_id = $1',
        by: () => grant.userId,
        data: () => ({ sub: grant.userId })
      },
      {
        name: 'the number of all authorizations of a client is raised',
        sql: 'update clients set authorization_generation = authorization_generation + 1 where client_id = $1',
        by: () => grant.clientId,
        data: () => ({ client_id: grant.clientId })
      },
      {
        name: 'a client loses a scope',
        sql: `update clients set required_scopes = '{files.read}' where client_id = $1`,
        by: () => grant.clientId,
        data: () => ({ client_id: grant.clientId })
      },
      {
        name: 'a client gets a scope',
        sql: `update clients set optional_scopes = '{files.read:media}' where client_id = $1`,
        by: () => grant.clientId,
        data: () => ({ client_id: grant.clientId })
      },
      {
        name: 'a client is limited to an API',
        sql: `update clients set audiences = '{https://files.example}' where client_id = $1`,
        by: () => grant.clientId,
        data: () => ({ client_id: grant.clientId })
      },
      {
        name: 'a client is deleted',
        sql: 'delete from clients where client_id = $1',
        by: () => grant.clientId,
        data: () => ({ client_id: grant.clientId })
      },
      {
        name: 'the generation of all authorizations of a user is raised',
        sql: 'update users set authorization_generation = authorization_generation + 1 where user_id = $1',
        by: () => grant.userId,
        data: () => ({ sub: grant.userId })
      },
      {
        name: 'an authorization ends for the first time',
        sql: `insert into authorizations (user_id, client_id, generation)
        select user_id, client_id, 1 from grants where grant_id = $1`,
        by: () => grant.grantId,
        data: () => ({ sub: grant.userId })
      }
    ])('$name', async ({ sql, by, data }) => {
      await world.operator.query(sql, [by()])
      expect(await world.announced()).toEqual([data()])
    })

    test('without an audience, if the grant was deleted or its audience is too long for a notification', async () => {
      await world.operator.query('delete from grants where grant_id = $1', [grant.grantId])
      await world.operator.query('update access_tokens set revoked_at = now() where token_id = $1', [
        grant.access.tokenId
      ])
      const other = await storeGrant(world.database, now)
      await world.operator.query("update grants set audience = repeat('\"', 8000) where grant_id = $1", [other.grantId])
      await world.operator.query('update grants set ended_at = now() where grant_id = $1', [other.grantId])
      const bare = [{ jti: grant.access.tokenId }, { grant_id: other.grantId }]
      expect(await world.announced()).toEqual([ended({ grant_id: grant.grantId }), ...bare])
    })

    test('with every search path of the statement', async () => {
      await world.operator.query('set search_path = pg_catalog')
      await world.operator.query('update public.access_tokens set revoked_at = now() where token_id = $1', [
        grant.access.tokenId
      ])
      await world.operator.query('reset search_path')
      expect(await world.announced()).toEqual([ended({ jti: grant.access.tokenId })])
    })

    test.each(['users cascade', 'clients cascade', 'grants', 'refresh_tokens', 'access_tokens'])(
      'truncate %s: one notification',
      async (what) => {
        await world.operator.query(`truncate ${what}`)
        expect(await world.announced()).toEqual([{ reset: what.split(' ')[0] }])
      }
    )

    test('a second end of an authorization sends a notification', async () => {
      await createConnectedAppStore(world.database).end(grant.userId, grant.clientId)
      await world.announced()
      for (let time = 0; time < 2; time++) {
        await world.operator.query('update authorizations set generation = generation + 1 where user_id = $1', [
          grant.userId
        ])
        expect(await world.announced()).toEqual([{ sub: grant.userId }])
      }
    })

    test('a user ends the access of a client, first and second time', async () => {
      const apps = createConnectedAppStore(world.database)
      for (let time = 0; time < 2; time += 1) {
        await apps.end(grant.userId, grant.clientId)
        expect(await world.announced()).toEqual([{ sub: grant.userId }])
      }
    })

    test('no notification before the commit', async () => {
      const other = new Client({ connectionString: world.url })
      await other.connect()
      await other.query('begin')
      await other.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
      expect(await world.announced()).toEqual([])
      await other.query('commit')
      await other.end()
      expect(await world.announced()).toEqual([ended({ grant_id: grant.grantId })])
    })

    test('no notification after a rollback', async () => {
      await world.operator.query('begin')
      await world.operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
      await world.operator.query('delete from users where user_id = $1', [grant.userId])
      await world.operator.query('rollback')
      expect(await world.announced()).toEqual([])
    })
  })

  test.each([
    { name: 'is deleted', sql: `delete from scopes where name = 'lost.read'` },
    { name: 'moves to another API', sql: `update scopes set audience = 'https://b.example' where name = 'lost.read'` },
    { name: 'is not discoverable any more', sql: `update scopes set is_discoverable = false where name = 'lost.read'` },
    { name: 'belongs to an API whose last credential is deleted', sql: `delete from resource_servers` }
  ])('a scope that $name may be in any token: one reset', async ({ sql }) => {
    await world.operator.query(`delete from scopes where name = 'lost.read'`)
    await world.operator.query(`insert into resource_servers (client_id, name, audience, normal_audience, secret_hash, created_at)
      values ('a', 'a', 'https://a.example', 'https://a.example', '', now()) on conflict do nothing`)
    await world.operator.query(
      `insert into scopes (name, title, audience, is_discoverable) values ('lost.read', 'x', 'https://a.example', true)`
    )
    await world.announced()
    await world.operator.query(sql)
    expect(await world.announced()).toEqual([{ reset: 'scopes' }])
  })
})

describe('changes that end nothing send no notification', () => {
  let grant: StoredGrant
  beforeEach(async () => {
    grant = await storeGrant(world.database, now)
    await world.announced()
  })

  test('a new grant, its exchange and a refresh', async () => {
    await storeGrant(world.database, now)
    const rotated = await createRefreshTokenStore(world.database).rotate(
      {
        hash: grant.refresh.hash,
        successor: { hash: newHash(), expiresAt: now },
        accessToken: { hash: newHash(), bucket: expiryBucket(now), scope: ['files.read'], expiresAt: now },
        retry: undefined,
        retryScope: '',
        pace: PACE
      },
      now
    )
    expect(rotated).toBe(true)
    expect(await world.announced()).toEqual([])
  })

  test('a new name of a client, and a scope that becomes optional', async () => {
    const text = `update clients set name = 'x', required_scopes = '{files.read:images}', optional_scopes = '{files.read}'
      where client_id = $1`
    await world.operator.query(text, [grant.clientId])
    expect(await world.announced()).toEqual([])
  })

  test('a new scope, and new texts of a scope', async () => {
    await world.operator.query(`insert into scopes (name, title) values ('new.read', 'x')`)
    await world.operator.query(`update scopes set title = 'y', is_default = true where name = 'new.read'`)
    expect(await world.announced()).toEqual([])
  })

  test('storing and extending a consent', async () => {
    const consent = { userId: grant.userId, clientId: grant.clientId, audience: 'https://files.example' }
    await rememberConsent(world.database, consent, ['a'])
    await rememberConsent(world.database, consent, ['b'])
    expect(await world.announced()).toEqual([])
  })

  test('storing the last use of a grant, and a new hash of the same password', async () => {
    await createConnectedAppStore(world.database).noteUse(new Map([[grant.grantId, new Date(now.getTime() + 1)]]))
    await createUserStore(world.database).replacePasswordHash(grant.userId, { from: 'none', to: 'another' })
    expect(await world.announced()).toEqual([])
  })

  test('ending an ended row, and an update without changes', async () => {
    const tokens = createAccessTokenStore(world.database)
    await tokens.revoke(grant.access, grant.clientId)
    expect(await world.announced()).toHaveLength(1)
    await world.operator.query('update access_tokens set revoked_at = now() where token_id = $1', [
      grant.access.tokenId
    ])
    await world.operator.query('delete from access_tokens where token_id = $1', [grant.access.tokenId])
    await world.operator.query('update grants set ended_at = ended_at where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toEqual([])
    await world.operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toHaveLength(1)
    await world.operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    await world.operator.query('delete from grants where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toEqual([])
  })

  test('deleting expired rows', async () => {
    const old = await storeGrant(world.database, new Date(now.getTime() - 10_000_000))
    await world.announced()
    await createExpiredRows(world.database).deleteSome()
    const left = await world.operator.query('select 1 from grants where grant_id = $1', [old.grantId])
    expect(left.rowCount).toBe(0)
    expect(await world.announced()).toEqual([])
  })
})

describe('truncate', () => {
  const [FIRST, SECOND] = [600_000, 600_001]

  let opened: MigratedDatabase
  let operator: Client
  let heard: string[]

  beforeAll(async () => {
    opened = await createMigratedDatabase()
    operator = new Client({ connectionString: opened.url })
    await operator.connect()
    await operator.query('select make_access_token_buckets($1, $2)', [FIRST, SECOND])
    await operator.query('listen valetkey_revocations')
    operator.on('notification', ({ payload }) => heard.push(payload ?? ''))
  })
  afterAll(async () => {
    await operator.end()
    await opened.close()
  })

  test.each([
    { name: 'one hour', sql: `truncate access_tokens_${FIRST}` },
    { name: 'all hours, one notification', sql: 'truncate access_tokens' },
    { name: 'only the parent table', sql: 'truncate only access_tokens' }
  ])('truncating tables of access tokens sends a notification: $name', async ({ sql }) => {
    heard = []
    await operator.query(sql)
    expect(heard).toEqual(['{"reset": "access_tokens"}'])
  })

  test('dropping them sends no notification', async () => {
    heard = []
    await operator.query(`drop table access_tokens_${FIRST}, access_tokens_${SECOND}`)
    expect(heard).toEqual([])
  })
})

describe('notification channel', () => {
  let testDatabase: TestDatabase
  let database: Database
  let heard: string[]
  let lost: string[]
  let open: NotificationChannel[]

  beforeAll(async () => {
    testDatabase = await createTestDatabase()
    database = connectWithoutLimits(testDatabase.url, { connections: 2 })
  })
  beforeEach(() => {
    heard = []
    lost = []
    open = []
  })
  afterEach(() => Promise.all(open.map((channel) => channel.close())))
  afterAll(async () => {
    await database.close()
    await testDatabase.drop()
  })

  async function listen(url = testDatabase.url): Promise<NotificationChannel> {
    const channel = await openNotificationChannel(
      url,
      ['a "channel"', 'a second'],
      (payload, name) => heard.push(name === 'a second' ? `second: ${payload}` : payload),
      (error) => lost.push(error.message)
    )
    open.push(channel)
    return channel
  }

  const run = (text: string, values: unknown[] = []) => database.query<{ pid: number }>({ name: '', text, values })

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await sleep(5)
  }

  test('receives notifications of all processes in order of their commits, and none of other channels', async () => {
    const channel = await listen()
    await channel.notify('one')
    await run('select pg_notify($1, $2)', ['a "channel"', 'two'])
    await run('select pg_notify($1, $2)', ['another', 'not for us'])
    await channel.notify('three')
    await until(() => heard.length === 3)
    expect(heard).toEqual(['one', 'two', 'three'])
  })

  test('two channels: each payload has the name of its channel, in order of the commits of both', async () => {
    const channel = await listen()
    for (const number of [1, 3, 5]) {
      await channel.notify(String(number))
      await run('select pg_notify($1, $2)', ['a second', String(number + 1)])
    }
    await until(() => heard.length === 6)
    expect(heard).toEqual(['1', 'second: 2', '3', 'second: 4', '5', 'second: 6'])
  })

  test('100 concurrent notifications arrive in order and share commits', async () => {
    const channel = await listen()
    const payloads = Array.from({ length: 100 }, (_, index) => `payload ${index}`)
    await Promise.all(payloads.map((payload) => channel.notify(payload)))
    await until(() => heard.length === 100)
    expect(heard).toEqual(payloads)
  })

  test('a notification that Postgres refuses fails alone', async () => {
    const channel = await listen()
    await expect(channel.notify('x'.repeat(8_000))).rejects.toThrow('payload string too long')
    await channel.notify('next')
    await until(() => heard.length === 1)
    expect(lost).toEqual([])
  })

  describe('the end of the LISTEN connection', () => {
    test('is reported once, and a notification in progress fails', async () => {
      const channel = await listen()
      const [row] = await run(
        "select pid from pg_stat_activity where datname = current_database() and query like 'listen %'"
      )
      await run('select pg_terminate_backend($1)', [row?.pid])
      await until(() => lost.length > 0)
      await expect(channel.notify('too late')).rejects.toThrow()
      await channel.close()
      expect(lost).toHaveLength(1)
    })

    test('is not reported after close, and no more notifications are received', async () => {
      const channel = await listen()
      await channel.close()
      await run('select pg_notify($1, $2)', ['a "channel"', 'too late'])
      expect([heard, lost]).toEqual([[], []])
    })

    test('is not awaited by close if the server does not respond any more', async () => {
      const network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
      const channel = await listen(atPort(testDatabase.url, network.port))
      network.freeze()
      await expect(channel.close()).resolves.toBeUndefined()
      await network.close()
    })
  })

  describe('a failed start of the LISTEN connection is an error', () => {
    test('no server at the address', async () => {
      await expect(listen(atPort(testDatabase.url, await freePort()))).rejects.toThrow()
    })

    test('a server that does not respond', async () => {
      const network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
      network.freeze()
      await expect(listen(atPort(testDatabase.url, network.port))).rejects.toThrow()
      await network.close()
    })

    test('a missing database', async () => {
      await expect(listen(testDatabase.url.replace(/[^/]+$/, 'no_such_database'))).rejects.toThrow('does not exist')
    })

    test('a pooler, which returns an invented process id', async () => {
      const pooler = createServer((client) => {
        const upstream = connect(Number(new URL(testDatabase.url).port), '127.0.0.1')
        client.on('error', () => upstream.destroy()).pipe(upstream)
        upstream.on('error', () => client.destroy()).on('data', (chunk) => client.write(withAnotherProcessId(chunk)))
        upstream.on('end', () => client.end())
      })
      await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve))
      const address = pooler.address()
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0
      await expect(listen(atPort(testDatabase.url, port))).rejects.toThrow('a pooler is in front of Postgres')
      pooler.close()
    })
  })

  /** BackendKeyData: a K, the length 12, the process id, the key. */
  function withAnotherProcessId(chunk: Buffer): Buffer {
    const at = chunk.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
    if (at >= 0) chunk.writeInt32BE(1, at + 5)
    return chunk
  }
})
