import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { Client } from 'pg'
import { createOperatorKeyStore, type OperatorKeyStore } from '../../../src/storage/postgres/operator-keys.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { untilBlocked } from '../../support/until-blocked.js'

const NOW = new Date('2026-11-21T08:00:00Z')
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

let stores: MigratedDatabase
let keys: OperatorKeyStore
let present = NOW

beforeAll(async () => {
  stores = await createMigratedDatabase()
  keys = createOperatorKeyStore(atTime(stores.database, () => present))
})
afterAll(() => stores.close())

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
