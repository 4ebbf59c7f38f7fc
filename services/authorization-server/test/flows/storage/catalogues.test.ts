import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { hashToken } from '@valetkey/oauth-protocol'
import { Client } from 'pg'
import { createOperatorKeyStore, type OperatorKeyStore } from '../../../src/storage/postgres/operator-keys.js'
import {
  createResourceServerStore,
  type ResourceServer,
  type ResourceServerStore
} from '../../../src/storage/postgres/resource-servers.js'
import { createScopeStore, type ScopeStore } from '../../../src/storage/postgres/scopes.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, MIGRATED, type MigratedDatabase } from '../../support/migrated-database.js'
import { NEW_SCOPE } from '../../support/new-scope.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash } from '../../support/stored-grant.js'
import { untilBlocked } from '../../support/until-blocked.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
afterAll(() => stores.close())

describe('resource servers', () => {
  const HASH = newHash()

  let opened: MigratedDatabase
  let store: ResourceServerStore
  let files: ResourceServer

  beforeAll(async () => {
    opened = await createMigratedDatabase()
    store = createResourceServerStore(opened.database)
  })
  beforeEach(async () => {
    const id = randomUUID()
    files = { clientId: `rs_${id}`, name: 'files', audience: `https://${id}.example`, titleIn: {} }
    await store.create(files, HASH, NOTE)
  })
  afterAll(() => opened.close())

  describe('resource server store: create', () => {
    test('stores a new id', async () => {
      expect(await store.create({ ...files, clientId: 'rs_new' }, HASH, NOTE)).toEqual({ outcome: 'created' })
    })

    test.each([
      {
        name: 'the same id and values',
        change: {},
        hash: HASH,
        outcome: 'exists',
        says: { outcome: 'exists', name: 'files' }
      },
      {
        name: 'the same id with another name',
        change: { name: 'other' },
        hash: HASH,
        outcome: 'exists',
        says: { outcome: 'exists', name: 'files' }
      },
      {
        name: 'the same id with another secret',
        change: {},
        hash: newHash(),
        outcome: 'conflict',
        says: { outcome: 'conflict' }
      },
      {
        name: 'the same id with another audience',
        change: { audience: 'https://o.example' },
        hash: HASH,
        outcome: 'conflict',
        says: { outcome: 'conflict' }
      }
    ])('$name: $outcome, and the stored one does not change', async ({ change, hash, says }) => {
      expect(await store.create({ ...files, ...change }, hash, NOTE)).toEqual(says)
      expect(await store.findWithSecret(files.clientId)).toEqual({ resourceServer: files, secretHash: HASH })
    })

    test('of ten concurrent calls one returns created and nine return exists', async () => {
      const server = { ...files, clientId: `rs_${randomUUID()}` }
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => store.create(server, HASH, NOTE)))
      expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['created', ...Array(9).fill('exists')])
    })

    test('several credentials may share an audience', async () => {
      const second = { ...files, clientId: `rs_${randomUUID()}` }
      expect(await store.create(second, newHash(), NOTE)).toEqual({ outcome: 'created' })
      expect((await store.findWithSecret(files.clientId))?.secretHash).toEqual(HASH)
    })
  })

  describe('resource server store: lookups compare byte for byte', () => {
    test.each<{ name: string; id(): string }>([
      { name: 'an unknown id', id: () => 'rs_unknown' },
      { name: 'an id in other letter case', id: () => files.clientId.toUpperCase() },
      { name: 'an id with a trailing space', id: () => `${files.clientId} ` },
      { name: 'its name', id: () => files.name },
      { name: 'a pattern', id: () => '%' }
    ])('$name finds nothing', async ({ id }) => {
      expect(await store.findWithSecret(id())).toBeUndefined()
    })
  })

  describe('resource server store: APIs', () => {
    test('credentials of one API are one API, with its first title', async () => {
      await store.create({ ...files, clientId: `rs_${randomUUID()}`, title: 'Files' }, HASH, NOTE)
      await store.create({ ...files, clientId: `rs_${randomUUID()}`, title: 'Other' }, HASH, NOTE)
      const found = (await store.listApis()).filter(({ audience }) => audience === files.audience)
      expect(found).toEqual([{ audience: files.audience, title: 'Files', titleIn: {} }])
    })

    test('a title is set on all credentials of the API', async () => {
      const second = { ...files, clientId: `rs_${randomUUID()}`, title: 'Old' }
      await store.create(second, HASH, NOTE)
      expect(await store.updateApi(files.clientId, { title: 'New' }, NOTE)).toBe(true)
      for (const { clientId } of [files, second])
        expect((await store.findWithSecret(clientId))?.resourceServer.title).toBe('New')
      expect(await store.updateApi('rs_unknown', { title: 'New' }, NOTE)).toBe(false)
    })

    test.each([
      { name: 'with the slash that a parser adds', spelled: (audience: string) => `${audience}/` },
      { name: 'in other letter case', spelled: (audience: string) => audience.toUpperCase() },
      { name: 'with the default port', spelled: (audience: string) => `${audience}:443` }
    ])('another spelling of a registered audience, $name, is refused (RFC 3986 §6.2.3)', async ({ spelled }) => {
      const other = { ...files, clientId: `rs_${randomUUID()}`, audience: spelled(files.audience) }
      expect(await store.create(other, HASH, NOTE)).toEqual({ outcome: 'other_spelling' })
      expect(await store.findWithSecret(other.clientId)).toBeUndefined()
    })

    test('of two spellings that are created concurrently, one is refused (10 rounds)', async () => {
      for (let round = 0; round < 10; round++) {
        const host = `https://${randomUUID()}.example`
        const made = await Promise.all(
          [host, `${host}/`].map((audience) =>
            store.create({ ...files, clientId: `rs_${randomUUID()}`, audience }, HASH, NOTE)
          )
        )
        expect(made.map(({ outcome }) => outcome).toSorted()).toEqual(['created', 'other_spelling'])
      }
    })
  })

  test('resource server store: list returns each with its secret', async () => {
    expect(await store.list()).toContainEqual({ resourceServer: files, secretHash: HASH })
  })
})

describe('operator keys', () => {
  const NOW = new Date('2026-11-21T08:00:00Z')
  const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
  let keys: OperatorKeyStore
  let present = NOW

  beforeAll(async () => {
    keys = createOperatorKeyStore(atTime(stores.database, () => present))
  })

  async function create(name: string, createdBy?: string) {
    const [operatorKeyId, hash] = [randomUUID(), hashToken(name)]
    const made = await keys.create({ operatorKeyId, name, createdBy }, hash, NOTE)
    return { operatorKeyId, hash, outcome: typeof made === 'string' ? made : 'created' }
  }

  const isLive = async (key: { operatorKeyId: string }) => (await keys.find(key.operatorKeyId))?.revokedAt === undefined

  test('stores the time of use at most once a minute', async () => {
    const { operatorKeyId, hash } = await create('used')
    const noted = async () => (await keys.find(operatorKeyId))?.lastUsedAt
    present = later(1)
    expect((await keys.use(hash))?.lastUsedAt).toBeUndefined()
    expect(await noted()).toEqual(later(1))
    present = later(60)
    await keys.use(hash)
    expect(await noted()).toEqual(later(1))
    present = later(61)
    await keys.use(hash)
    expect(await noted()).toEqual(later(61))
  })

  test('finds a revoked key and does not store its use', async () => {
    const { operatorKeyId, hash } = await create('revoked')
    await keys.revoke(operatorKeyId, NOTE)
    expect(await keys.use(hash)).toMatchObject({ operatorKeyId, revokedAt: expect.any(Date) })
    expect((await keys.find(operatorKeyId))?.lastUsedAt).toBeUndefined()
  })

  test('of ten concurrent revocations one succeeds', async () => {
    const { operatorKeyId } = await create('contested')
    const results = await Promise.all(Array.from({ length: 10 }, () => keys.revoke(operatorKeyId, NOTE)))
    expect(results.filter((result) => result !== undefined)).toHaveLength(1)
  })

  test('stores only the SHA-256 of a key', async () => {
    const { hash } = await create('hashed')
    expect(await keys.use(hashToken('another'))).toBeUndefined()
    expect(await stores.run("select key_hash from operator_keys where name = 'hashed'")).toEqual([{ key_hash: hash }])
  })

  describe('a key that was created with another key', () => {
    test('is revoked with it, and so are the keys that it created; others stay', async () => {
      const root = await create('root')
      const child = await create('child', root.operatorKeyId)
      const grandchildren = [await create('first', child.operatorKeyId), await create('second', child.operatorKeyId)]
      const other = await create('other')
      expect(await keys.find(child.operatorKeyId)).toMatchObject({ createdBy: root.operatorKeyId })
      expect(await keys.revoke(root.operatorKeyId, NOTE)).toMatchObject({
        key: { operatorKeyId: root.operatorKeyId, revokedAt: expect.any(Date) },
        alsoRevoked: 3
      })
      expect(await Promise.all([child, ...grandchildren, other].map(isLive))).toEqual([false, false, false, true])
      const [entry] = await stores.run("select details from audit_events where details ->> 'alsoRevoked' = '3'")
      expect(entry).toMatchObject({ details: { alsoRevoked: 3 } })
    })

    test('cannot be created with a revoked key', async () => {
      const root = await create('gone')
      await keys.revoke(root.operatorKeyId, NOTE)
      const late = await create('late', root.operatorKeyId)
      expect([late.outcome, await keys.find(late.operatorKeyId)]).toEqual(['creator_revoked', undefined])
    })

    test('is revoked by a revocation that waits for its creation', async () => {
      const root = await create('slow')
      const maker = new Client({ connectionString: stores.url })
      await maker.connect()
      await maker.query('begin')
      await maker.query('select 1 from operator_keys where operator_key_id = $1 for share', [root.operatorKeyId])
      const child = randomUUID()
      await maker.query(
        "insert into operator_keys (operator_key_id, name, key_hash, created_at, created_by) values ($1, 'slow child', 'x', now(), $2)",
        [child, root.operatorKeyId]
      )
      const revoking = keys.revoke(root.operatorKeyId, NOTE)
      await untilBlocked(stores.run)
      await maker.query('commit')
      expect(await revoking).toMatchObject({ alsoRevoked: 1 })
      expect(await isLive({ operatorKeyId: child })).toBe(false)
      await maker.end()
    })

    test('is not live after a revocation, even if it was created concurrently', async () => {
      for (let round = 0; round < 10; round++) {
        const root = await create(`race ${round}`)
        const child = await create(`race ${round} child`, root.operatorKeyId)
        const parents = [root, child, root, child, root, child]
        const made = parents.map((parent, index) => create(`race ${round} ${index}`, parent.operatorKeyId))
        const revoked = await keys.revoke(root.operatorKeyId, NOTE)
        const all = [root, child, ...(await Promise.all(made)).filter(({ outcome }) => outcome === 'created')]
        expect(await Promise.all(all.map(isLive))).toEqual(all.map(() => false))
        expect(revoked?.alsoRevoked).toBe(all.length - 1)
      }
    })
  })
})

describe('scopes', () => {
  const MESSAGES = path.resolve(import.meta.dirname, '../../../messages')
  let scopes: ScopeStore

  beforeAll(async () => {
    scopes = createScopeStore(stores.database)
  })

  const LONG = expect.stringMatching(/^.{10,}$/)
  const TEXTS = { title: LONG, description: LONG }
  const TRANSLATIONS = Object.fromEntries(
    readdirSync(MESSAGES).flatMap((file) => (file === 'en.json' ? [] : [[path.parse(file).name, TEXTS]]))
  )

  // e2e/file-scopes.test.ts compares their names with the scopes of the resource server.
  const OF_REPORTS = { audience: 'https://reports.example', isDefault: true, isDiscoverable: true, isSelfService: true }

  test('every built-in scope has a title and a description in each language of the pages (contract 4)', async () => {
    const found = await scopes.list()
    expect(found.length).toBeGreaterThan(0)
    for (const scope of found)
      expect(scope).toEqual({
        name: scope.name,
        number: scope.number,
        ...TEXTS,
        translations: TRANSLATIONS,
        builtIn: true,
        audience: undefined,
        isDefault: false,
        isDiscoverable: false,
        isSelfService: false,
        selects: scope.name === 'files.selected'
      })
  })

  test('created scopes are listed after the built-in ones, by name', async () => {
    const builtIn = await scopes.list()
    expect(await scopes.create({ ...NEW_SCOPE, name: 'z.last', title: 'Last', description: 'A sentence.' }, NOTE)).toBe(
      true
    )
    expect(
      await scopes.create(
        { ...NEW_SCOPE, ...OF_REPORTS, name: 'a.first', title: 'First', translations: { de: { title: 'Erster' } } },
        NOTE
      )
    ).toBe(true)
    expect(await scopes.list()).toEqual([
      ...builtIn,
      {
        ...NEW_SCOPE,
        ...OF_REPORTS,
        name: 'a.first',
        title: 'First',
        translations: { de: { title: 'Erster' } },
        number: builtIn.length + 2,
        builtIn: false
      },
      {
        ...NEW_SCOPE,
        name: 'z.last',
        title: 'Last',
        description: 'A sentence.',
        number: builtIn.length + 1,
        builtIn: false
      }
    ])
  })

  describe('numbers of scopes', () => {
    const create = (name: string) => scopes.create({ ...NEW_SCOPE, name, title: name }, NOTE)
    const numberOf = async (wanted: string) => (await scopes.list()).find(({ name }) => name === wanted)?.number ?? 0

    test('grow with each creation, and are not used again after a deletion', async () => {
      await create('number.first')
      const first = await numberOf('number.first')
      await scopes.remove('number.first', false, NOTE)
      await create('number.first')
      expect(await numberOf('number.first')).toBeGreaterThan(first)
    })

    test('are committed in their order: a later number waits for the earlier transaction', async () => {
      const slow = new Client({ connectionString: stores.url })
      await slow.connect()
      await slow.query('begin')
      await slow.query(`insert into scopes (name, title) values ('number.slow', 'x')`)
      const creating = create('number.fast')
      await untilBlocked(stores.run)
      await slow.query('commit')
      await slow.end()
      await creating
      expect(await numberOf('number.fast')).toBeGreaterThan(await numberOf('number.slow'))
    })
  })

  test('of ten concurrent creations with one name, one succeeds and is not overwritten', async () => {
    const scope = (index: number) => scopes.create({ ...NEW_SCOPE, name: 'contested', title: `Title ${index}` }, NOTE)
    const created = await Promise.all(Array.from({ length: 10 }, (_, index) => scope(index)))
    expect(created.filter(Boolean)).toHaveLength(1)
    expect(await scopes.create({ ...NEW_SCOPE, name: 'files.read', title: 'Another' }, NOTE)).toBe(false)
    const found = await scopes.list()
    expect(found.find(({ name }) => name === 'contested')?.title).toBe(`Title ${created.indexOf(true)}`)
    expect(found.find(({ name }) => name === 'files.read')).toMatchObject({ builtIn: true })
  })
})

describe('changes announced to the registry', () => {
  const CLIENT = `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
  issues_refresh_tokens, consent, created_at) values ($1, 'App', 'confidential', '{}', '{}', '{}', true, true, 'ask', now())`
  const RESOURCE_SERVER = `insert into resource_servers (client_id, name, audience, normal_audience, secret_hash, created_at)
  values ('rs', 'files', 'https://files.example', 'https://files.example/', 'x', now())`

  let testDatabase: TestDatabase
  let operator: Client
  let heard: unknown[]
  let id: string

  beforeAll(async () => {
    testDatabase = await createTestDatabase(MIGRATED)
    operator = new Client({ connectionString: testDatabase.url })
    await operator.connect()
    await operator.query('listen valetkey_registry')
    operator.on('notification', ({ payload }) => heard.push(JSON.parse(payload ?? '')))
  })
  beforeEach(async () => {
    heard = []
    id = `client_${randomUUID()}`
    await operator.query(CLIENT, [id])
    await operator.query(`insert into client_secrets values ($1, 'x', now(), null)`, [id])
    await announced()
  })
  afterAll(async () => {
    await operator.end()
    await testDatabase.drop()
  })

  /** All that was announced since the last call: Postgres delivers in the order of the commits. */
  async function announced(): Promise<unknown[]> {
    await operator.query(`notify valetkey_registry, '"mark"'`)
    await operator.query('select 1')
    expect(heard.at(-1)).toBe('mark')
    return heard.splice(0).slice(0, -1)
  }

  const client = (key = id) => ({ table: 'clients', key })

  test.each<{ name: string; sql: string; with?: () => string[]; data(): object[] }>([
    { name: 'a client is created', sql: CLIENT, with: () => [`${id}_2`], data: () => [client(`${id}_2`)] },
    {
      name: 'a client is disabled',
      sql: 'update clients set disabled_at = now() where client_id = $1',
      data: () => [client()]
    },
    { name: 'a client is renamed', sql: `update clients set name = 'x' where client_id = $1`, data: () => [client()] },
    {
      name: 'a client with its secret is deleted',
      sql: 'delete from clients where client_id = $1',
      data: () => [client()]
    },
    {
      name: 'a secret is added',
      sql: `insert into client_secrets values ($1, 'y', now(), null)`,
      data: () => [client()]
    },
    {
      name: 'a secret gets an expiry',
      sql: 'update client_secrets set expires_at = now() where client_id = $1',
      data: () => [client()]
    },
    { name: 'a secret is deleted', sql: 'delete from client_secrets where client_id = $1', data: () => [client()] },
    {
      name: 'all secrets are deleted',
      sql: 'truncate client_secrets',
      with: () => [],
      data: () => [{ table: 'clients' }]
    },
    {
      name: 'all clients are deleted',
      sql: 'truncate clients cascade',
      with: () => [],
      data: () => [{ table: 'clients' }]
    },
    {
      name: 'a scope is created',
      sql: 'insert into scopes (name, title) values ($1, $1)',
      data: () => [{ table: 'scopes' }]
    },
    {
      name: 'a scope is changed',
      sql: `update scopes set title = 'x'`,
      with: () => [],
      data: () => [{ table: 'scopes' }]
    },
    { name: 'scopes are deleted', sql: 'delete from scopes', with: () => [], data: () => [{ table: 'scopes' }] },
    {
      name: 'a resource server is created',
      sql: RESOURCE_SERVER,
      with: () => [],
      data: () => [{ table: 'resource_servers' }]
    },
    {
      name: 'a resource server is deleted',
      sql: `delete from resource_servers where client_id = 'rs'`,
      with: () => [],
      data: () => [{ table: 'resource_servers' }]
    }
  ])('$name', async ({ sql, with: values, data }) => {
    await operator.query(sql, values?.() ?? [id])
    expect(await announced()).toEqual(data())
  })

  test('a client gets another id: both ids are announced', async () => {
    await operator.query('delete from client_secrets where client_id = $1', [id])
    await announced()
    await operator.query('update clients set client_id = $2 where client_id = $1', [id, `${id}_new`])
    expect(await announced()).toEqual([client(), client(`${id}_new`)])
  })

  test('a use of a secret or credential is not announced', async () => {
    await operator.query(RESOURCE_SERVER.replace(/'rs'/, "'rs_used'"))
    await announced()
    await operator.query('update client_secrets set last_used_at = now() where client_id = $1', [id])
    await operator.query('update resource_servers set last_used_at = now()')
    expect(await announced()).toEqual([])
  })

  test('a rolled-back change is not announced', async () => {
    await operator.query('begin')
    await operator.query('update clients set disabled_at = now() where client_id = $1', [id])
    await operator.query('rollback')
    expect(await announced()).toEqual([])
  })
})
