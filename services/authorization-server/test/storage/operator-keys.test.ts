import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { digestToken } from '@valetkey/oauth-protocol'
import { createOperatorKeyStore, type OperatorKeyStore } from '../../src/storage/operator-keys.js'
import { NOTE } from '../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'

const NOW = new Date('2026-11-21T08:00:00Z')
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

let stores: MigratedDatabase
let keys: OperatorKeyStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  keys = createOperatorKeyStore(stores.database)
})
afterAll(() => stores.close())

async function create(name: string) {
  const [operatorKeyId, digest] = [randomUUID(), digestToken(name)]
  await keys.create({ operatorKeyId, name, createdAt: NOW }, digest, NOTE)
  return { operatorKeyId, digest }
}

test('a use is noted at most once a minute', async () => {
  const { operatorKeyId, digest } = await create('used')
  const noted = async () => (await keys.find(operatorKeyId))?.lastUsedAt
  expect((await keys.use(digest, later(1)))?.lastUsedAt).toBeUndefined()
  expect(await noted()).toEqual(later(1))
  await keys.use(digest, later(60))
  expect(await noted()).toEqual(later(1))
  await keys.use(digest, later(61))
  expect(await noted()).toEqual(later(61))
})

test('a revoked key is found as such, and its use is not noted', async () => {
  const { operatorKeyId, digest } = await create('revoked')
  await keys.revoke(operatorKeyId, later(5), NOTE)
  expect(await keys.use(digest, later(10))).toMatchObject({ operatorKeyId, revokedAt: later(5) })
  expect((await keys.find(operatorKeyId))?.lastUsedAt).toBeUndefined()
})

test('of ten at once that revoke a key, one does', async () => {
  const { operatorKeyId } = await create('contested')
  const results = await Promise.all(Array.from({ length: 10 }, () => keys.revoke(operatorKeyId, NOW, NOTE)))
  expect(results.filter((result) => result !== undefined)).toHaveLength(1)
})

test('a key is kept as its SHA-256 only', async () => {
  const { digest } = await create('hashed')
  expect(await keys.use(digestToken('another'), NOW)).toBeUndefined()
  expect(await stores.run("select key_hash from operator_keys where name = 'hashed'")).toEqual([{ key_hash: digest }])
})
