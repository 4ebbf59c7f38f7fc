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

  test('count from one, each name for itself', async () => {
    for (const name of ['a', 'a', 'b']) await counters.add(name, 10, 60)
    expect([await countOf('a'), await countOf('b')]).toEqual([2, 1])
  })

  test('fifty at once are fifty', async () => {
    const added = await Promise.all(Array.from({ length: 50 }, () => counters.add('many', 50, 60)))
    expect(added.every(({ counted }) => counted)).toBe(true)
    expect(await countOf('many')).toBe(50)
  })

  test('no more are counted than the limit allows: of fifty at once, twenty', async () => {
    const added = await Promise.all(Array.from({ length: 50 }, () => counters.add('full', 20, 60)))
    expect(added.filter(({ counted }) => counted)).toHaveLength(20)
    expect(await countOf('full')).toBe(20)
  })

  test('a window starts with its first failure and no other moves its end', async () => {
    expect((await counters.add('window', 2, 60)).remainingSeconds).toBe(60)
    await redis.client.pexpire('vk:attempts:window', 5_500)
    expect(await counters.add('window', 2, 60)).toEqual({ counted: true, remainingSeconds: 6 })
    expect(await counters.add('window', 2, 60)).toEqual({ counted: false, remainingSeconds: 6 })
    expect(await redis.client.pttl('vk:attempts:window')).toBeLessThanOrEqual(5_500)
  })

  test('it ends by itself, and the next starts at one', async () => {
    await counters.add('short', 2, 60)
    await counters.add('short', 2, 60)
    await redis.client.pexpire('vk:attempts:short', 20)
    while ((await countOf('short')) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await counters.add('short', 2, 60)).toEqual({ counted: true, remainingSeconds: 60 })
    expect(await countOf('short')).toBe(1)
  })

  test('a look counts nothing and moves nothing', async () => {
    expect(await counters.look('seen')).toEqual({ count: 0, remainingSeconds: 1 })
    await counters.add('seen', 10, 60)
    expect(await counters.look('seen')).toEqual({ count: 1, remainingSeconds: 60 })
    expect(await counters.look('seen')).toEqual({ count: 1, remainingSeconds: 60 })
    expect(await redis.client.exists('vk:attempts:unseen')).toBe(0)
  })

  test('the wait is a second at least', async () => {
    await counters.add('nearly', 10, 60)
    await redis.client.pexpire('vk:attempts:nearly', 400)
    expect((await counters.add('nearly', 10, 60)).remainingSeconds).toBe(1)
  })
})

test('a Redis that cannot be reached is an outage, for every verb', async () => {
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const counters = createAttemptCounterStore(redis)
  await expect(counters.add('a', 1, 60)).rejects.toThrow(StoreUnavailable)
  await expect(counters.look('a')).rejects.toThrow(StoreUnavailable)
  redis.disconnect()
})
