import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { StoreUnavailable } from '@valetkey/service-kit'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { createSessionStore, type SessionRecord, type SessionStore } from '../../../src/storage/redis/sessions.js'
import { freePort } from '../../support/failing-network.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'

const RECORD: SessionRecord = {
  userId: 'a-user',
  userGeneration: 3,
  sessionGeneration: 2,
  way: { kind: 'password' },
  signedInAt: 1_700_000_000_000,
  authenticatedAt: 1_700_000_000_000,
  endsAt: 1_700_604_800_000,
  browser: 'Firefox, Linux'
}
const IDLE_SECONDS = 12 * 3600

describe.each(REDIS_KINDS)('sessions in $name', ({ create }) => {
  let redis: TestRedis
  let sessions: SessionStore

  beforeAll(() => {
    redis = create()
    sessions = createSessionStore(redis.client, newRecordAuthentication().records)
  })
  afterAll(() => redis.close())

  test('an opened session is found unchanged, only under its hash', async () => {
    await sessions.open('hash-1', RECORD)
    expect(await sessions.findAndExtend('hash-1')).toEqual(RECORD)
    expect(await sessions.findAndExtend('hash-2')).toBeUndefined()
  })

  test('every lookup extends the idle time', async () => {
    await sessions.open('hash-3', RECORD)
    await redis.client.expire('vk:session:hash-3', 10)
    await sessions.findAndExtend('hash-3')
    expect(await redis.client.ttl('vk:session:hash-3')).toBeGreaterThan(IDLE_SECONDS - 10)
  })

  test('a lookup of an unknown session creates none', async () => {
    await sessions.findAndExtend('hash-4')
    expect(await redis.client.exists('vk:session:hash-4')).toBe(0)
  })

  test('a session expires after the idle time', async () => {
    await sessions.open('hash-5', RECORD)
    await redis.client.pexpire('vk:session:hash-5', 20)
    while ((await redis.client.exists('vk:session:hash-5')) > 0) await new Promise((resolve) => setImmediate(resolve))
    expect(await sessions.findAndExtend('hash-5')).toBeUndefined()
  })

  test('lists the sessions of a user, the newest first, with the time since their last use', async () => {
    const user = { ...RECORD, userId: 'two browsers' }
    await sessions.open('first', user)
    await sessions.open('second', { ...user, browser: 'Chrome, Android' })
    await sessions.open('closed before', user)
    await sessions.close('two browsers', 'closed before')
    await redis.client.expire('vk:session:first', IDLE_SECONDS - 100)
    const listed = await sessions.list('two browsers')
    expect(listed.map(({ hash, record }) => [hash, record.browser])).toEqual([
      ['second', 'Chrome, Android'],
      ['first', 'Firefox, Linux']
    ])
    expect(listed[0]?.lastSeenSecondsAgo).toBeLessThan(50)
    expect(listed[1]?.lastSeenSecondsAgo).toBeGreaterThanOrEqual(100)
  })

  test('a session in use survives the rotation of the keys; an unused one ends with the old key', async () => {
    const [oldKey, newKey] = ['o'.repeat(32), 'n'.repeat(32)]
    const storeWith = (keys: readonly string[]) =>
      createSessionStore(redis.client, newRecordAuthentication(keys).records)
    await storeWith([oldKey]).open('in use', RECORD)
    await storeWith([oldKey]).open('not used', RECORD)
    expect(await storeWith([newKey, oldKey]).findAndExtend('in use')).toEqual(RECORD)
    expect(await redis.client.ttl('vk:session:in use')).toBeGreaterThan(IDLE_SECONDS - 10)
    expect(await storeWith([newKey]).findAndExtend('in use')).toEqual(RECORD)
    expect(await storeWith([newKey]).findAndExtend('not used')).toBeUndefined()
  })

  test('close ends one session; closing it again is no error', async () => {
    await sessions.open('hash-6', RECORD)
    await sessions.open('hash-7', RECORD)
    await sessions.close('a-user', 'hash-6')
    await sessions.close('a-user', 'hash-6')
    expect(await sessions.findAndExtend('hash-6')).toBeUndefined()
    expect(await sessions.findAndExtend('hash-7')).toEqual(RECORD)
  })

  test('keeps the 100 newest sessions of a user; closed ones and those of others do not count', async () => {
    const user = { ...RECORD, userId: 'busy' }
    await sessions.open('of another', RECORD)
    await sessions.open('closed', user)
    for (let count = 0; count < 100; count++) await sessions.open(`number ${count}`, user)
    expect(await sessions.findAndExtend('closed')).toBeUndefined()
    await sessions.close('busy', 'number 50')
    await sessions.open('number 100', user)
    expect(await sessions.findAndExtend('number 0')).toEqual(user)
    await sessions.open('number 101', user)
    expect(await sessions.findAndExtend('number 0')).toBeUndefined()
    expect(await sessions.findAndExtend('number 1')).toEqual(user)
    expect(await sessions.findAndExtend('of another')).toEqual(RECORD)
    expect(await redis.client.llen('vk:sessions:busy')).toBe(100)
    expect(await redis.client.ttl('vk:sessions:busy')).toBeGreaterThan(7 * 86_400)
  })

  test('102 sessions, 40 of them opened concurrently: exactly the two oldest end', async () => {
    const user = { ...RECORD, userId: 'busy at once' }
    for (let count = 0; count < 62; count++) await sessions.open(`before ${count}`, user)
    await Promise.all(Array.from({ length: 40 }, (_, count) => sessions.open(`at once ${count}`, user)))
    expect(await redis.client.llen('vk:sessions:busy at once')).toBe(100)
    expect(await sessions.findAndExtend('before 1')).toBeUndefined()
    expect(await sessions.findAndExtend('before 2')).toEqual(user)
  })
})

test('every method throws StoreUnavailable without Redis', async () => {
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const sessions = createSessionStore(redis, newRecordAuthentication().records)
  await expect(sessions.open('hash', RECORD)).rejects.toThrow(StoreUnavailable)
  await expect(sessions.findAndExtend('hash')).rejects.toThrow(StoreUnavailable)
  await expect(sessions.close('a-user', 'hash')).rejects.toThrow(StoreUnavailable)
  redis.disconnect()
})
