import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createPendingRequestStore, type PendingRequestStore } from '../../src/storage/pending-requests.js'
import { connectRedis } from '../../src/storage/redis.js'
import { freePort } from '../support/failing-network.js'
import { REDIS_KINDS } from '../support/redis-kinds.js'

const REQUEST = { query: 'client_id=a&state=%C3%BC%0A"quoted"', browserDigest: 'a-browser' }

describe.each(REDIS_KINDS)('pending requests in $name', ({ create }) => {
  let redis: TestRedis
  let pending: PendingRequestStore

  beforeAll(() => {
    redis = create()
    pending = createPendingRequestStore(redis.client)
  })
  afterAll(() => redis.close())

  test('one is found as it was, as often as it is looked for', async () => {
    await pending.save('digest-1', REQUEST, 60)
    expect(await pending.find('digest-1')).toEqual(REQUEST)
    expect(await pending.find('digest-1')).toEqual(REQUEST)
    expect(await pending.find('digest-2')).toBeUndefined()
  })

  test('of twenty who take it at once, one gets it', async () => {
    await pending.save('digest-3', REQUEST, 60)
    const taken = await Promise.all(Array.from({ length: 20 }, () => pending.take('digest-3')))
    expect(taken.filter((won) => won)).toHaveLength(1)
    expect(await pending.find('digest-3')).toBeUndefined()
    expect(await pending.findDecision('digest-3')).toEqual({ kind: 'deciding' })
  })

  test('one that was put back can be taken again', async () => {
    await pending.save('digest-4', REQUEST, 60)
    await pending.take('digest-4')
    await pending.save('digest-4', REQUEST, 60)
    expect(await pending.take('digest-4')).toBe(true)
  })

  test('it has an end, and a look does not move it', async () => {
    await pending.save('digest-5', REQUEST, 60)
    const before = await redis.client.pttl('vk:request:{digest-5}')
    expect(before).toBeGreaterThan(59_000)
    expect(before).toBeLessThanOrEqual(60_000)
    await new Promise((resolve) => setTimeout(resolve, 30))
    await pending.find('digest-5')
    expect(await redis.client.pttl('vk:request:{digest-5}')).toBeLessThan(before)
    await redis.client.pexpire('vk:request:{digest-5}', 10)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await pending.take('digest-5')).toBe(false)
    expect(await pending.findDecision('digest-5')).toBeUndefined()
  })

  test.each([
    { name: 'denied', decision: { kind: 'denied' } as const },
    {
      name: 'allowed, with the digest of its code',
      decision: { kind: 'allowed', codeDigest: Buffer.alloc(32, 7) as TokenDigest } as const
    }
  ])('a decision is found as it was saved, and has an end: $name', async ({ decision }) => {
    await pending.save('digest-6', REQUEST, 60)
    await pending.take('digest-6')
    await pending.saveDecision('digest-6', decision, 60_000)
    expect(await pending.findDecision('digest-6')).toEqual(decision)
    await redis.client.pexpire('vk:decision:{digest-6}', 10)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await pending.findDecision('digest-6')).toBeUndefined()
  })

  test('being decided has an end, should the process that took it die', async () => {
    await pending.save('digest-7', REQUEST, 60)
    await pending.take('digest-7')
    const left = await redis.client.pttl('vk:decision:{digest-7}')
    expect(left).toBeGreaterThan(9_000)
    expect(left).toBeLessThanOrEqual(10_000)
  })
})

test('a Redis that cannot be reached is an outage, for every verb', async () => {
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const pending = createPendingRequestStore(redis)
  await expect(pending.save('digest', REQUEST, 60)).rejects.toThrow(StoreUnavailable)
  await expect(pending.find('digest')).rejects.toThrow(StoreUnavailable)
  await expect(pending.take('digest')).rejects.toThrow(StoreUnavailable)
  await expect(pending.saveDecision('digest', { kind: 'denied' }, 60)).rejects.toThrow(StoreUnavailable)
  await expect(pending.findDecision('digest')).rejects.toThrow(StoreUnavailable)
  redis.disconnect()
})
