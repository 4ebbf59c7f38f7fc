import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import type { TokenHash } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { type AttemptCounterStore, createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { createPendingRequestStore, type PendingRequestStore } from '../../../src/storage/redis/pending-requests.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'

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
