import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pg, { Client } from 'pg'
import { type GrantAdministration, revokeGrants } from '../../../src/operator/use-cases/administer-grants.js'
import { createAllowanceStore } from '../../../src/storage/postgres/allowances.js'
import { createClientStore } from '../../../src/storage/postgres/clients.js'
import { createGrantedAccessStore, type GrantFilter } from '../../../src/storage/postgres/granted-access.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { exchangeOf, now } from '../../support/exchanges.js'
import { exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { openSessionOf } from '../../support/sessions.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'
import { introspectionOf, isActive, pairOf } from '../../support/tokens.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
afterAll(() => stores.close())

describe('grants', () => {
  let server: TestServer
  let resourceServer: Credentials
  let [printer, album]: Credentials[] = []
  let aliceId: string
  let bobId: string

  beforeAll(async () => {
    server = await startTestServer()
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    for (const table of ['grants', 'users', 'consents', 'clients cascade'])
      await server.database.query({ name: '', text: `delete from ${table.replace(' cascade', '')}`, values: [] })
    printer = await server.createClient({ name: 'Photo Printer', consent: 'remember' })
    album = await server.createClient({ name: 'Album' })
    aliceId = await server.createUser('alice', PASSWORD)
    bobId = await server.createUser('bob', PASSWORD)
  })
  afterAll(() => server.close())

  const grants = (args: readonly string[], surroundings = {}) =>
    runCommand(server.database, ['grants', ...args], surroundings)
  const actor = { kind: 'command_line', name: OPERATOR }

  async function allow(username: string, client: Credentials | undefined) {
    if (client === undefined) throw new Error('no client')
    const { access_token } = pairOf(await exchange(server, client, await obtainCode(server, client, { username })))
    return { client, isAlive: () => isActive(server, resourceServer, access_token), access_token }
  }

  async function grantIdOf(token: string): Promise<string> {
    return ((await introspectionOf(server, resourceServer, token)) as { grant_id: string }).grant_id
  }

  const listed = async (...filter: string[]) => JSON.parse((await grants(['list', '--json', ...filter])).out).grants
  const pairsOf = (found: { username: string; client_name: string }[]) =>
    found.map(({ username, client_name }) => `${username} ${client_name}`).sort()
  const isAsked = async (username: string, client: Credentials) =>
    obtainCode(server, client, { username }).then(
      () => true,
      () => false
    )

  describe('grants list', () => {
    test('lists active grants of a user by id or name, to a client, or both', async () => {
      for (const [username, client] of [
        ['alice', printer],
        ['alice', album],
        ['bob', printer]
      ] as const)
        await allow(username, client)
      expect(pairsOf(await listed())).toEqual(['alice Album', 'alice Photo Printer', 'bob Photo Printer'])
      for (const user of ['alice', aliceId]) {
        expect(pairsOf(await listed('--user', user))).toEqual(['alice Album', 'alice Photo Printer'])
      }
      const clientId = printer?.clientId ?? ''
      expect(pairsOf(await listed('--client', clientId))).toEqual(['alice Photo Printer', 'bob Photo Printer'])
      expect(pairsOf(await listed('--client', clientId, '--user', 'bob'))).toEqual(['bob Photo Printer'])
    })

    test('--resource: only grants for one API, by the name or audience of a resource server', async () => {
      const audience = 'https://reports.example'
      await runCommand(server.database, ['resource-servers', 'create', '--name', 'reports', '--audience', audience])
      await allow('alice', printer)
      await allow('bob', album)
      await server.database.query({
        name: '',
        text: 'update grants set audience = $1 where client_id = $2',
        values: [audience, album?.clientId]
      })
      expect(pairsOf(await listed('--resource', 'reports'))).toEqual(['bob Album'])
      expect(pairsOf(await listed('--resource', audience, '--user', 'alice'))).toEqual([])
      const { code, said } = await grants(['list', '--resource', 'unknown'])
      expect([code, said]).toEqual([2, expect.stringContaining('there is no resource server with the name')])
    })

    test('after the runbook for a leaked database, only newer grants are listed', async () => {
      const runbooks = readFileSync(new URL('../../../../../docs/runbooks.md', import.meta.url), 'utf8')
      const [, runbook = ''] = runbooks.split('\n## The database has leaked\n')
      const [, statements = ''] = /```sql\n([^`]+)```/.exec(runbook) ?? []
      const [, end = ''] = /\*\*It is over\*\* when `([^`]+)`/.exec(runbook) ?? []
      const countOf = async () => {
        const { code, out } = await runCommand(server.database, [...end.split(' ').slice(1), '--json'])
        expect(code).toBe(0)
        return JSON.parse(out).grants.length
      }
      const before = [await allow('alice', printer), await allow('bob', album)]
      expect(await countOf()).toBe(2)
      for (const text of statements.split(';').filter((one) => one.trim() !== ''))
        await server.database.query({ name: '', text, values: [] })
      expect(await Promise.all(before.map((grant) => grant.isAlive()))).toEqual([false, false])
      expect(await countOf()).toBe(0)
      expect(await (await allow('alice', album)).isAlive()).toBe(true)
      expect(await countOf()).toBe(1)
    })

    test('--json prints one document with the grant_id of introspection', async () => {
      const { access_token } = await allow('alice', printer)
      const [grant] = await listed()
      expect(grant).toEqual({
        grant_id: await grantIdOf(access_token),
        user_id: aliceId,
        username: 'alice',
        client_id: printer?.clientId,
        client_name: 'Photo Printer',
        scope: 'files.read',
        audience: 'http://localhost:4100',
        created_at: expect.stringMatching(/Z$/),
        last_used_at: expect.stringMatching(/Z$/),
        refreshable_until: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/)
      })
    })

    test('omits ended grants and codes that were not exchanged', async () => {
      if (album === undefined) throw new Error('no client')
      await obtainCode(server, album, { username: 'alice' })
      expect(await listed()).toEqual([])
      await allow('alice', album)
      await runCommand(server.database, ['users', 'disable', 'alice', '--yes'])
      expect(await listed()).toEqual([])
    })

    test('--limit reports if there are more grants', async () => {
      await allow('alice', printer)
      await allow('bob', printer)
      const { out, said } = await grants(['list', '--json', '--limit', '1'])
      expect([JSON.parse(out).grants.length, said]).toEqual([1, expect.stringMatching(/more than 1\b/)])
      expect((await grants(['list', '--limit', '0'])).code).toBe(2)
    })

    test.each([
      ['--user', 'unknown'],
      ['--user', randomUUID()],
      ['--client', 'nothing'],
      ['--client', 'no/id']
    ])('the unknown %s %s is 3', async (...filter) => {
      expect((await grants(['list', ...filter])).code).toBe(3)
      expect((await grants(['revoke', '--yes', ...filter])).code).toBe(3)
    })
  })

  describe('grants revoke', () => {
    test('one grant: its token is inactive, other tokens stay active, and the event has the actor', async () => {
      const [one, other] = [await allow('alice', printer), await allow('alice', album)]
      const grantId = await grantIdOf(one.access_token)
      const { code, out } = await grants(['revoke', grantId, '--yes', '--json'])
      expect([code, JSON.parse(out)]).toEqual([0, { grant_id: grantId }])
      expect([await one.isAlive(), await other.isAlive()]).toEqual([false, true])
      const entry = {
        event: 'grant_revoked',
        user_id: aliceId,
        client_id: printer?.clientId,
        details: { grantId, actor }
      }
      expect(await lastChangeIn(server)).toMatchObject(entry)
      const entries = await changesIn(server)
      expect((await grants(['revoke', grantId, '--yes'])).code).toBe(0)
      expect(await changesIn(server)).toEqual(entries)
    })

    test.each([
      { name: 'of a user', args: ['--user', 'alice'], ended: [true, true, false] },
      { name: 'of a user to a client', args: ['--user', 'alice', '--client'], ended: [true, false, false] },
      { name: 'to a client', args: ['--client'], ended: [true, false, true] }
    ])('$name: their tokens are inactive, others stay active, and the event has the actor', async ({ args, ended }) => {
      const all = [await allow('alice', printer), await allow('alice', album), await allow('bob', printer)]
      const given = args.at(-1) === '--client' ? [...args, printer?.clientId ?? ''] : args
      const before = (await changesIn(server)).length
      expect((await grants(['revoke', ...given, '--yes'])).code).toBe(0)
      expect(await Promise.all(all.map(async ({ isAlive }) => !(await isAlive())))).toEqual(ended)
      const made = (await changesIn(server)).slice(before)
      const entry = {
        event: 'grants_revoked',
        user_id: args.includes('--user') ? aliceId : null,
        client_id: args.includes('--client') ? printer?.clientId : null,
        details: { actor }
      }
      expect(made).toMatchObject([entry])
    })

    test('10,000 grants of a user end with one statement', async () => {
      const { isAlive } = await allow('alice', printer)
      await server.database.query({
        name: '',
        text: `insert into grants select (jsonb_populate_record(g, jsonb_build_object(
          'grant_id', gen_random_uuid(), 'code_hash', sha256(n::text::bytea)))).*
        from grants g cross join generate_series(1, 10050) n where g.user_id = $1 and g.ended_at is null`,
        values: [aliceId]
      })
      const { out } = await grants(['revoke', '--user', 'alice', '--yes', '--json'])
      expect(JSON.parse(out)).toEqual({ user_id: aliceId, ended_grants: 10_051 })
      expect(await isAlive()).toBe(false)
      expect(await listed('--user', 'alice')).toEqual([])
    })

    test.each([['--user', 'alice'], ['--client']])(
      'the remembered consent is deleted, so the user must consent again: %s',
      async (...args) => {
        if (printer === undefined) throw new Error('no client')
        await allow('alice', printer)
        expect(await isAsked('alice', printer)).toBe(false)
        await grants(['revoke', ...args, ...(args.length === 1 ? [printer.clientId] : []), '--yes'])
        expect(await isAsked('alice', printer)).toBe(true)
      }
    )

    test('sessions and later grants stay valid', async () => {
      const browser = server.newBrowser()
      await browser.submit(await browser.open(`${ISSUER}/login`), { username: 'bob', password: PASSWORD })
      await allow('bob', printer)
      await grants(['revoke', '--user', bobId, '--yes'])
      expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(200)
      expect(await (await allow('bob', printer)).isAlive()).toBe(true)
    })

    test('a code issued before the revocation cannot be exchanged', async () => {
      if (album === undefined) throw new Error('no client')
      const code = await obtainCode(server, album, { username: 'alice' })
      const { out } = await grants(['revoke', '--user', 'alice', '--yes', '--json'])
      // The grant is created by the exchange.
      expect(JSON.parse(out)).toEqual({ user_id: aliceId, ended_grants: 0 })
      expect((await exchange(server, album, code)).json()).toMatchObject({ error: 'invalid_grant' })
    })

    test('requires confirmation: No changes nothing (1), without a terminal 2', async () => {
      const { isAlive } = await allow('alice', printer)
      const refused = await grants(['revoke', '--user', 'alice'], { answer: false })
      expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('alice')])
      expect((await grants(['revoke', '--user', 'alice'])).code).toBe(2)
      expect(await isAlive()).toBe(true)
    })

    test('no argument, or a grant_id with --user, is 2; an unknown grant is 3', async () => {
      expect((await grants(['revoke', '--yes'])).code).toBe(2)
      expect((await grants(['revoke', randomUUID(), '--user', 'alice', '--yes'])).code).toBe(2)
      for (const id of [randomUUID(), 'no-id']) expect((await grants(['revoke', id, '--yes'])).code).toBe(3)
    })

    test('a user without grants: nothing is changed or audited', async () => {
      const entries = await changesIn(server)
      const { code, out } = await grants(['revoke', '--user', 'bob', '--yes', '--json'])
      expect([code, JSON.parse(out)]).toEqual([0, { user_id: bobId, ended_grants: 0 }])
      expect(await changesIn(server)).toEqual(entries)
    })
  })
})

describe('announcements', () => {
  let listener: Client
  let heard: object[]
  let grant: StoredGrant

  beforeAll(async () => {
    listener = new Client({ connectionString: stores.url })
    await listener.connect()
    await listener.query('listen valetkey_revocations')
    listener.on('notification', ({ payload }) => heard.push(read(payload ?? '')))
  })
  beforeEach(async () => {
    heard = []
    grant = await storeGrant(stores.database, new Date())
  })
  afterAll(async () => {
    await listener.end()
  })

  /** The announcement without its audience. */
  function read(payload: string): object {
    const { audience: _, ...ended } = JSON.parse(payload)
    return ended
  }

  /** The revocation events of a command. */
  async function announced(...args: string[]): Promise<object[]> {
    expect((await runCommand(stores.database, [...args, '--yes'])).code).toBe(0)
    // Postgres delivers notifications before the result of the listener's next statement.
    await listener.query('select 1')
    return heard
  }

  test.each(['disable', 'delete'])('users %s announces the user (contract 3)', async (command) => {
    expect(await announced('users', command, grant.userId)).toEqual([{ sub: grant.userId }])
  })

  test('users set-password announces the user', async () => {
    const args = ['users', 'set-password', grant.userId, '--password-stdin']
    await runCommand(stores.database, args, { stdin: 'a new long password' })
    await listener.query('select 1')
    expect(heard).toEqual([{ sub: grant.userId }])
  })

  test('users enable announces nothing', async () => {
    await runCommand(stores.database, ['users', 'disable', grant.userId, '--yes'])
    await listener.query('select 1')
    heard = []
    await runCommand(stores.database, ['users', 'enable', grant.userId])
    await listener.query('select 1')
    expect(heard).toEqual([])
  })

  test('grants revoke announces the grant, the user or the client', async () => {
    expect(await announced('grants', 'revoke', grant.grantId)).toEqual([{ grant_id: grant.grantId }])
    heard = []
    await storeGrant(stores.database, new Date(), grant)
    expect(await announced('grants', 'revoke', '--user', grant.userId)).toEqual([{ sub: grant.userId }])
    heard = []
    const both = ['--user', grant.userId, '--client', grant.clientId]
    expect(await announced('grants', 'revoke', ...both)).toEqual([{ sub: grant.userId }])
    heard = []
    expect(await announced('grants', 'revoke', '--client', grant.clientId)).toEqual([{ client_id: grant.clientId }])
  })
})

describe('the use case', () => {
  const NOW = new Date('2026-11-21T08:00:00Z')
  const AUTHOR = { actor: { kind: 'command_line', name: 'test' } } as const
  const AUDIENCE = 'https://files.example'
  let deps: GrantAdministration

  beforeAll(async () => {
    const database = atTime(stores.database, NOW)
    deps = {
      grantedAccess: createGrantedAccessStore(database),
      users: createUserStore(database),
      clients: createClientStore(database)
    }
  })

  test('all grants of a user end with one statement and are counted, while another statement locks some', async () => {
    const { userId } = await storeGrant(stores.database, NOW)
    await stores.run(
      `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, newest_scope, created_at, redeemed_at, expires_at)
      select gen_random_uuid(), client_id, user_id, scope, audience, redirect_uri, sha256(n::text::bytea),
        user_generation, client_generation, newest_scope, created_at, redeemed_at, expires_at
      from grants cross join generate_series(1, 11000) n where user_id = $1`,
      [userId]
    )
    const other = new pg.Client({ connectionString: stores.url })
    await other.connect()
    await other.query('begin')
    await other.query('select 1 from grants where user_id = $1 limit 2000 for update', [userId])
    expect(await revokeGrants({ userId }, AUTHOR, deps)).toBe(11_001)
    await other.query('commit')
    await other.end()
    expect(await aliveOf({ userId })).toBe(0)
    expect(await revokeGrants({ userId }, AUTHOR, deps)).toBe(0)
    const text = `select event from audit_events where event = 'grants_revoked' and user_id = $1`
    expect(await stores.run(text, [userId])).toHaveLength(1)
  })

  test.each([
    { name: 'the user', filterOf: ({ userId }: StoredGrant) => ({ userId }) },
    { name: 'the user to the client', filterOf: ({ userId, clientId }: StoredGrant) => ({ userId, clientId }) },
    { name: 'the client', filterOf: ({ clientId }: StoredGrant) => ({ clientId }) }
  ])('grants of $name end, including one that is issued at the same moment (20 rounds)', async ({ filterOf }) => {
    for (let round = 0; round < 20; round++) {
      const owner = await storeGrant(stores.database, NOW)
      await rememberConsent(stores.database, { ...owner, audience: AUDIENCE }, ['files.read'])
      const open = () => openRemembered(owner)
      await Promise.all([open(), open(), revokeGrants(filterOf(owner), AUTHOR, deps), open(), open()])
      expect(await aliveOf(filterOf(owner))).toBe(0)
      expect(await open()).toBe(false)
    }
  })

  const aliveOf = async (filter: GrantFilter): Promise<number> =>
    (await deps.grantedAccess.list(filter, { limit: 20_000 })).length

  /** Issues a code by a remembered consent and exchanges it. @returns whether there were tokens */
  async function openRemembered({ userId, clientId }: { userId: string; clientId: string }): Promise<boolean> {
    const scope = ['files.read']
    const sessionHash = await openSessionOf(stores.database, userId)
    const allowance = await createAllowanceStore(stores.database).read({ sessionHash, clientId, audience: AUDIENCE })
    if (!allowance?.rememberedScope.includes('files.read')) return false
    const exchange = exchangeOf({ userId, clientId }, { allowed: { ...allowance.generations, scope } })
    return (await createGrantStore(atTime(stores.database, now)).storeExchange(exchange)) !== undefined
  }
})
