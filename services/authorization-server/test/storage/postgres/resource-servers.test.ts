import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  createResourceServerStore,
  type ResourceServer,
  type ResourceServerStore
} from '../../../src/storage/postgres/resource-servers.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { newHash } from '../../support/stored-grant.js'

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
  files = { clientId: `rs_${id}`, name: 'files', audience: `https://${id}.example` }
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
    expect(found).toEqual([{ audience: files.audience, title: 'Files' }])
  })

  test('a title is set on all credentials of the API', async () => {
    const second = { ...files, clientId: `rs_${randomUUID()}`, title: 'Old' }
    await store.create(second, HASH, NOTE)
    expect(await store.setTitle(files.clientId, 'New', NOTE)).toBe(true)
    for (const { clientId } of [files, second])
      expect((await store.findWithSecret(clientId))?.resourceServer.title).toBe('New')
    expect(await store.setTitle('rs_unknown', 'New', NOTE)).toBe(false)
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
