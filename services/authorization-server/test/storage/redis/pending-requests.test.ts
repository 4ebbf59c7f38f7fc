import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createPendingRequestStore, type PendingRequestStore } from '../../../src/storage/redis/pending-requests.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { freePort } from '../../support/failing-network.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'

const request = (digest: string, userId = 'a-user') => ({ userId, digest })
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

  test('one is held for its user alone, as often as it is looked for', async () => {
    await pending.hold(request('one'))
    expect(await pending.isHeld(request('one'))).toBe(true)
    expect(await pending.isHeld(request('one'))).toBe(true)
    expect(await pending.isHeld(request('two'))).toBe(false)
    expect(await pending.isHeld(request('one', 'another-user'))).toBe(false)
    expect(await pending.take(request('one', 'another-user'))).toBe(false)
  })

  test('of twenty who take it at once, one gets it', async () => {
    await pending.hold(request('one'))
    await pending.hold(request('two'))
    const taken = await Promise.all(Array.from({ length: 20 }, () => pending.take(request('one'))))
    expect(taken.filter((won) => won)).toHaveLength(1)
    expect(await pending.isHeld(request('one'))).toBe(false)
    expect(await pending.isHeld(request('two'))).toBe(true)
    expect(await pending.findDecision(request('one'))).toEqual({ kind: 'deciding' })
  })

  test('one that was put back can be taken again, once, even if it was put back twice', async () => {
    await pending.hold(request('one'))
    await pending.take(request('one'))
    await pending.hold(request('one'))
    await pending.hold(request('one'))
    expect(await pending.take(request('one'))).toBe(true)
    expect(await pending.take(request('one'))).toBe(false)
  })

  test('the hundred newest of a user are held, those of another user apart', async () => {
    await pending.hold(request('of another', 'another-user'))
    for (let count = 0; count <= 100; count++) await pending.hold(request(`number ${count}`))
    expect(await pending.isHeld(request('number 0'))).toBe(false)
    expect(await pending.isHeld(request('number 1'))).toBe(true)
    expect(await pending.isHeld(request('number 100'))).toBe(true)
    expect(await redis.client.llen(LIST)).toBe(100)
    expect(await pending.isHeld(request('of another', 'another-user'))).toBe(true)
  })

  test('they have an end, and a look does not move it', async () => {
    await pending.hold(request('one'))
    const left = await redis.client.pttl(LIST)
    expect(left).toBeGreaterThan(3_590_000)
    expect(left).toBeLessThanOrEqual(3_600_000)
    await redis.client.pexpire(LIST, 60_000)
    await pending.isHeld(request('one'))
    expect(await redis.client.pttl(LIST)).toBeLessThanOrEqual(60_000)
    await redis.client.del(LIST)
    expect(await pending.take(request('one'))).toBe(false)
    expect(await pending.findDecision(request('one'))).toBeUndefined()
  })

  test.each([
    { name: 'denied', decision: { kind: 'denied' } as const },
    {
      name: 'allowed, with the digest of its code',
      decision: { kind: 'allowed', codeDigest: Buffer.alloc(32, 7) as TokenDigest } as const
    }
  ])('a decision is found as it was saved, and has an end: $name', async ({ decision }) => {
    await pending.hold(request('one'))
    await pending.take(request('one'))
    await pending.saveDecision(request('one'), decision, 60_000)
    expect(await pending.findDecision(request('one'))).toEqual(decision)
    expect(await pending.findDecision(request('two'))).toBeUndefined()
    const left = await redis.client.pttl('vk:decision:{a-user}:one')
    expect([left > 50_000, left <= 60_000]).toEqual([true, true])
  })

  test('being decided has an end, should the process that took it die', async () => {
    await pending.hold(request('one'))
    await pending.take(request('one'))
    const left = await redis.client.pttl('vk:decision:{a-user}:one')
    expect(left).toBeGreaterThan(9_000)
    expect(left).toBeLessThanOrEqual(10_000)
  })
})

test('a Redis that cannot be reached is an outage, for every verb', async () => {
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const pending = createPendingRequestStore(redis)
  await expect(pending.hold(request('one'))).rejects.toThrow(StoreUnavailable)
  await expect(pending.isHeld(request('one'))).rejects.toThrow(StoreUnavailable)
  await expect(pending.take(request('one'))).rejects.toThrow(StoreUnavailable)
  await expect(pending.saveDecision(request('one'), { kind: 'denied' }, 60)).rejects.toThrow(StoreUnavailable)
  await expect(pending.findDecision(request('one'))).rejects.toThrow(StoreUnavailable)
  redis.disconnect()
})
