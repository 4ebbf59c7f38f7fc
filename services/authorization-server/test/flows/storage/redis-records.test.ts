import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import type { TokenHash } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { type AttemptCounterStore, createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { createPendingRequestStore, type PendingRequestStore } from '../../../src/storage/redis/pending-requests.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { createSessionStore, type SessionRecord, type SessionStore } from '../../../src/storage/redis/sessions.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'

describe('sessions', () => {
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
  const hasNotEnded = () => false

  describe.each(REDIS_KINDS)('sessions in $name', ({ create }) => {
    let redis: TestRedis
    let sessions: SessionStore

    beforeAll(() => {
      redis = create()
      sessions = createSessionStore(redis.client, newRecordAuthentication().records, hasNotEnded)
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
        createSessionStore(redis.client, newRecordAuthentication(keys).records, hasNotEnded)
      await storeWith([oldKey]).open('in use', RECORD)
      await storeWith([oldKey]).open('not used', RECORD)
      expect(await storeWith([newKey, oldKey]).findAndExtend('in use')).toEqual(RECORD)
      expect(await redis.client.ttl('vk:session:in use')).toBeGreaterThan(IDLE_SECONDS - 10)
      expect(await storeWith([newKey]).findAndExtend('in use')).toEqual(RECORD)
      expect(await storeWith([newKey]).findAndExtend('not used')).toBeUndefined()
    })

    test('a session that is closed while its record is written under a new key stays closed', async () => {
      await sessions.open('closing', RECORD)
      const { records } = newRecordAuthentication(['n'.repeat(32), 'a'.repeat(32)])
      const closing: typeof records = {
        ...records,
        protect(key, content) {
          // Redis gets this command before the one that writes the record.
          void redis.client.del(key)
          return records.protect(key, content)
        }
      }
      await createSessionStore(redis.client, closing, hasNotEnded).findAndExtend('closing')
      expect(await sessions.findAndExtend('closing')).toBeUndefined()
      expect(await redis.client.exists('vk:session:closing')).toBe(0)
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
    const sessions = createSessionStore(redis, newRecordAuthentication().records, hasNotEnded)
    await expect(sessions.open('hash', RECORD)).rejects.toThrow(StoreUnavailable)
    await expect(sessions.findAndExtend('hash')).rejects.toThrow(StoreUnavailable)
    await expect(sessions.close('a-user', 'hash')).rejects.toThrow(StoreUnavailable)
    redis.disconnect()
  })
})

describe('pending requests', () => {
  const request = (hash: string, userId = 'a-user') => ({ userId, hash })
  const LIST = 'vk:requests:{a-user}'

  describe.each(REDIS_KINDS)('pending requests in $name', ({ create }) => {
    let redis: TestRedis
    let pending: PendingRequestStore

    beforeAll(() => {
      redis = create()
      pending = createPendingRequestStore(redis.client)
    })
    beforeEach(async () => {
      await redis.client.flushdb()
    })
    afterAll(() => redis.close())

    test('a stored request is found repeatedly, and only for its user', async () => {
      await pending.add(request('one'))
      expect(await pending.exists(request('one'))).toBe(true)
      expect(await pending.exists(request('one'))).toBe(true)
      expect(await pending.exists(request('two'))).toBe(false)
      expect(await pending.exists(request('one', 'another-user'))).toBe(false)
      expect(await pending.take(request('one', 'another-user'))).toBe(false)
    })

    test('take: of 20 concurrent calls one succeeds', async () => {
      await pending.add(request('one'))
      await pending.add(request('two'))
      const taken = await Promise.all(Array.from({ length: 20 }, () => pending.take(request('one'))))
      expect(taken.filter((won) => won)).toHaveLength(1)
      expect(await pending.exists(request('one'))).toBe(false)
      expect(await pending.exists(request('two'))).toBe(true)
      expect(await pending.findDecision(request('one'))).toEqual({ kind: 'deciding' })
    })

    test('a request that is stored again, even twice, can be taken once', async () => {
      await pending.add(request('one'))
      await pending.take(request('one'))
      await pending.add(request('one'))
      await pending.add(request('one'))
      expect(await pending.take(request('one'))).toBe(true)
      expect(await pending.take(request('one'))).toBe(false)
    })

    test('keeps the 100 newest requests of each user', async () => {
      await pending.add(request('of another', 'another-user'))
      for (let count = 0; count <= 100; count++) await pending.add(request(`number ${count}`))
      expect(await pending.exists(request('number 0'))).toBe(false)
      expect(await pending.exists(request('number 1'))).toBe(true)
      expect(await pending.exists(request('number 100'))).toBe(true)
      expect(await redis.client.llen(LIST)).toBe(100)
      expect(await pending.exists(request('of another', 'another-user'))).toBe(true)
    })

    test('requests expire, and a lookup does not extend them', async () => {
      await pending.add(request('one'))
      const left = await redis.client.pttl(LIST)
      expect(left).toBeGreaterThan(3_590_000)
      expect(left).toBeLessThanOrEqual(3_600_000)
      await redis.client.pexpire(LIST, 60_000)
      await pending.exists(request('one'))
      expect(await redis.client.pttl(LIST)).toBeLessThanOrEqual(60_000)
      await redis.client.del(LIST)
      expect(await pending.take(request('one'))).toBe(false)
      expect(await pending.findDecision(request('one'))).toBeUndefined()
    })

    test.each([
      { name: 'denied', decision: { kind: 'denied' } as const },
      {
        name: 'allowed, with the hash of its code',
        decision: { kind: 'allowed', codeHash: Buffer.alloc(32, 7) as TokenHash } as const
      }
    ])('a decision is found as it was saved, and expires: $name', async ({ decision }) => {
      await pending.add(request('one'))
      await pending.take(request('one'))
      await pending.saveDecision(request('one'), decision, 60_000)
      expect(await pending.findDecision(request('one'))).toEqual(decision)
      expect(await pending.findDecision(request('two'))).toBeUndefined()
      const left = await redis.client.pttl('vk:decision:{a-user}:one')
      expect([left > 50_000, left <= 60_000]).toEqual([true, true])
    })

    test('the state deciding expires, in case the process crashes', async () => {
      await pending.add(request('one'))
      await pending.take(request('one'))
      const left = await redis.client.pttl('vk:decision:{a-user}:one')
      expect(left).toBeGreaterThan(9_000)
      expect(left).toBeLessThanOrEqual(10_000)
    })
  })

  test('every method throws StoreUnavailable without Redis', async () => {
    const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
    const pending = createPendingRequestStore(redis)
    await expect(pending.add(request('one'))).rejects.toThrow(StoreUnavailable)
    await expect(pending.exists(request('one'))).rejects.toThrow(StoreUnavailable)
    await expect(pending.take(request('one'))).rejects.toThrow(StoreUnavailable)
    await expect(pending.saveDecision(request('one'), { kind: 'denied' }, 60)).rejects.toThrow(StoreUnavailable)
    await expect(pending.findDecision(request('one'))).rejects.toThrow(StoreUnavailable)
    redis.disconnect()
  })
})

describe('counters of attempts', () => {
  describe.each(REDIS_KINDS)('counters of attempts in $name', ({ create }) => {
    let redis: TestRedis
    let counters: AttemptCounterStore

    beforeAll(() => {
      redis = create()
      counters = createAttemptCounterStore(redis.client)
    })
    afterAll(() => redis.close())

    const countOf = async (name: string) => (await counters.look(name)).count

    test('count each name separately, from one', async () => {
      for (const name of ['a', 'a', 'b']) await counters.add(name, 10, 60)
      expect([await countOf('a'), await countOf('b')]).toEqual([2, 1])
    })

    test('counts 50 concurrent failures as 50', async () => {
      const added = await Promise.all(Array.from({ length: 50 }, () => counters.add('many', 50, 60)))
      expect(added.every(({ counted }) => counted)).toBe(true)
      expect(await countOf('many')).toBe(50)
    })

    test('counts at most the limit: 20 of 50 concurrent failures', async () => {
      const added = await Promise.all(Array.from({ length: 50 }, () => counters.add('full', 20, 60)))
      expect(added.filter(({ counted }) => counted)).toHaveLength(20)
      expect(await countOf('full')).toBe(20)
    })

    test('a window starts with the first failure, and later ones do not extend it', async () => {
      expect((await counters.add('window', 2, 60)).remainingSeconds).toBe(60)
      await redis.client.pexpire('vk:attempts:window', 5_990)
      expect(await counters.add('window', 2, 60)).toEqual({ counted: true, remainingSeconds: 6 })
      expect(await counters.add('window', 2, 60)).toEqual({ counted: false, remainingSeconds: 6 })
      expect(await redis.client.pttl('vk:attempts:window')).toBeLessThanOrEqual(5_990)
    })

    test('after a window expires, the next count is one', async () => {
      await counters.add('short', 2, 60)
      await counters.add('short', 2, 60)
      await redis.client.pexpire('vk:attempts:short', 20)
      while ((await countOf('short')) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      expect(await counters.add('short', 2, 60)).toEqual({ counted: true, remainingSeconds: 60 })
      expect(await countOf('short')).toBe(1)
    })

    test('look neither counts nor extends the window', async () => {
      expect(await counters.look('seen')).toEqual({ count: 0, remainingSeconds: 1 })
      await counters.add('seen', 10, 60)
      expect(await counters.look('seen')).toEqual({ count: 1, remainingSeconds: 60 })
      expect(await counters.look('seen')).toEqual({ count: 1, remainingSeconds: 60 })
      expect(await redis.client.exists('vk:attempts:unseen')).toBe(0)
    })

    test('the remaining time is at least one second', async () => {
      await counters.add('nearly', 10, 60)
      await redis.client.pexpire('vk:attempts:nearly', 400)
      expect((await counters.add('nearly', 10, 60)).remainingSeconds).toBe(1)
    })
  })

  test('every method throws StoreUnavailable without Redis', async () => {
    const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
    const counters = createAttemptCounterStore(redis)
    await expect(counters.add('a', 1, 60)).rejects.toThrow(StoreUnavailable)
    await expect(counters.look('a')).rejects.toThrow(StoreUnavailable)
    redis.disconnect()
  })
})
