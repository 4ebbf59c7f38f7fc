import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { StoreUnavailable } from '@valetkey/service-kit'
import { type AttemptCounterStore, createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { freePort } from '../../support/failing-network.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'

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
