import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { StoreUnavailable } from '@valetkey/service-kit'
import { type AttemptCounterStore, createAttemptCounterStore } from '../../src/storage/attempt-counters.js'
import { connectRedis } from '../../src/storage/redis.js'
import { freePort } from '../support/failing-network.js'
import { REDIS_KINDS } from '../support/redis-kinds.js'

describe.each(REDIS_KINDS)('counters of attempts in $name', ({ create }) => {
  let redis: TestRedis
  let counters: AttemptCounterStore

  beforeAll(() => {
    redis = create()
    counters = createAttemptCounterStore(redis.client)
  })
  afterAll(() => redis.close())

  test('count from one, each name for itself', async () => {
    const counts = [await counters.add('a', 60), await counters.add('a', 60), await counters.add('b', 60)]
    expect(counts.map(({ count }) => count)).toEqual([1, 2, 1])
  })

  test('fifty at once are fifty', async () => {
    const counts = await Promise.all(Array.from({ length: 50 }, () => counters.add('many', 60)))
    expect(counts.map(({ count }) => count).sort((one, other) => one - other)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1)
    )
  })

  test('a window starts with its first attempt and no other moves its end', async () => {
    expect((await counters.add('window', 60)).remainingSeconds).toBe(60)
    await redis.client.pexpire('vk:attempts:window', 5_500)
    expect(await counters.add('window', 60)).toEqual({ count: 2, remainingSeconds: 6 })
    expect(await redis.client.pttl('vk:attempts:window')).toBeLessThanOrEqual(5_500)
  })

  test('it ends by itself, and the next starts at one', async () => {
    await counters.add('short', 60)
    await counters.add('short', 60)
    await redis.client.pexpire('vk:attempts:short', 20)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(await counters.add('short', 60)).toEqual({ count: 1, remainingSeconds: 60 })
  })

  test('a look counts nothing and moves nothing', async () => {
    expect(await counters.look('seen')).toEqual({ count: 0, remainingSeconds: 1 })
    await counters.add('seen', 60)
    expect(await counters.look('seen')).toEqual({ count: 1, remainingSeconds: 60 })
    expect(await counters.look('seen')).toEqual({ count: 1, remainingSeconds: 60 })
    expect(await redis.client.exists('vk:attempts:unseen')).toBe(0)
  })

  test('the wait is a second at least', async () => {
    await counters.add('nearly', 60)
    await redis.client.pexpire('vk:attempts:nearly', 400)
    expect((await counters.add('nearly', 60)).remainingSeconds).toBe(1)
  })

  test('one that is taken back leaves the others and the window as they are', async () => {
    await counters.add('back', 60)
    await counters.add('back', 60)
    await redis.client.pexpire('vk:attempts:back', 5_000)
    await counters.forget('back')
    expect(await redis.client.get('vk:attempts:back')).toBe('1')
    expect(await redis.client.pttl('vk:attempts:back')).toBeLessThanOrEqual(5_000)
    expect(await redis.client.pttl('vk:attempts:back')).toBeGreaterThan(0)
  })

  test('with the last one the counter goes, and none below zero is made', async () => {
    await counters.add('last', 60)
    await counters.forget('last')
    await counters.forget('last')
    expect(await redis.client.exists('vk:attempts:last')).toBe(0)
    expect((await counters.add('last', 60)).count).toBe(1)
  })
})

test('a Redis that cannot be reached is an outage, for every verb', async () => {
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const counters = createAttemptCounterStore(redis)
  await expect(counters.add('a', 60)).rejects.toThrow(StoreUnavailable)
  await expect(counters.forget('a')).rejects.toThrow(StoreUnavailable)
  redis.disconnect()
})
