import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import type { TokenHash } from '@valetkey/oauth-protocol'
import { type CodeStore, createCodeStore } from '../../../src/storage/redis/codes.js'
import { ALLOWED, age, RIGHT, recordOf } from '../../support/code-records.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'
import { newHash } from '../../support/stored-grant.js'

const after = (...undelivered: string[]) => ({ allowed: ALLOWED, undelivered })
const TAKEN = { kind: 'taken', ...after() }
const KEPT_EXPIRED_MS = 60_000

describe.each(REDIS_KINDS)('codes that are returned to $name', ({ create }) => {
  let redis: TestRedis
  let codes: CodeStore
  let hash: TokenHash
  let key: string

  beforeAll(() => {
    redis = create()
    codes = createCodeStore(redis.client, newRecordAuthentication().records)
  })
  beforeEach(async () => {
    await redis.client.flushdb()
    hash = newHash()
    key = `vk:code:${hash.toString('hex')}`
    await codes.put(hash, recordOf(), 20_000)
  })
  afterAll(() => redis.close())

  const remaining = () => redis.client.pttl(key)

  test('can be taken once more, for the rest of their lifetime', async () => {
    await age(redis.client, key, 5_000)
    await codes.take(hash, 'first', RIGHT)
    await age(redis.client, key, 4_000)
    await codes.giveBack(hash, 'first', after())
    expect(await remaining()).toBeLessThanOrEqual(11_000 + KEPT_EXPIRED_MS)
    expect(await remaining()).toBeGreaterThan(6_000 + KEPT_EXPIRED_MS)
    const wrong = await codes.take(hash, 'wrong', { ...RIGHT, clientId: 'x' })
    expect(wrong).toEqual({ kind: 'bound_elsewhere', mismatch: 'client' })
    expect(await codes.take(hash, 'second', RIGHT)).toEqual(TAKEN)
    expect(await codes.take(hash, 'third', RIGHT)).toMatchObject({ kind: 'used', attempt: 'second' })
  })

  test('return the undelivered exchanges to the next take, and for a used code', async () => {
    await codes.take(hash, 'first', RIGHT)
    await codes.giveBack(hash, 'first', after('first'))
    expect(await codes.take(hash, 'second', RIGHT)).toEqual({ kind: 'taken', ...after('first') })
    await codes.giveBack(hash, 'second', after('first', 'second'))
    expect(await codes.take(hash, 'third', RIGHT)).toEqual({ kind: 'taken', ...after('first', 'second') })
    expect(await codes.take(hash, 'fourth', RIGHT)).toMatchObject({ kind: 'used', ...after('first', 'second') })
  })

  test('repeatedly keep their expiry, and are then expired, not used', async () => {
    for (const [attempt, left] of [
      ['first', 15_000],
      ['second', 10_000],
      ['third', 5_000]
    ] as const) {
      expect(await codes.take(hash, attempt, RIGHT)).toMatchObject({ kind: 'taken' })
      await age(redis.client, key, 5_000)
      await codes.giveBack(hash, attempt, after(attempt))
      expect(await remaining()).toBeLessThanOrEqual(left + KEPT_EXPIRED_MS)
    }
    await codes.take(hash, 'fourth', RIGHT)
    await age(redis.client, key, 5_000)
    await codes.giveBack(hash, 'fourth', after('fourth'))
    expect(await codes.take(hash, 'fifth', RIGHT)).toEqual({ kind: 'expired' })
    expect(await remaining()).toBeLessThanOrEqual(KEPT_EXPIRED_MS)
  })

  test('stay unknown if their tombstone has expired', async () => {
    await codes.take(hash, 'first', RIGHT)
    await redis.client.del(key)
    await codes.giveBack(hash, 'first', after())
    expect(await codes.take(hash, 'second', RIGHT)).toEqual({ kind: 'unknown' })
  })

  test('stay used if a different exchange returns them', async () => {
    await codes.take(hash, 'first', RIGHT)
    for (const other of ['another', 'firs', 'first 1', '.*', '']) await codes.giveBack(hash, other, after())
    expect(await codes.take(hash, 'second', RIGHT)).toMatchObject({ kind: 'used', attempt: 'first' })
    await codes.giveBack(hash, 'first', after('first'))
    await codes.take(hash, 'third', RIGHT)
    await codes.giveBack(hash, 'first', after())
    expect(await codes.take(hash, 'fourth', RIGHT)).toMatchObject({ kind: 'used', attempt: 'third' })
  })

  test('twice by the same exchange exist once', async () => {
    await codes.take(hash, 'first', RIGHT)
    await Promise.all([codes.giveBack(hash, 'first', after()), codes.giveBack(hash, 'first', after())])
    expect(await codes.take(hash, 'second', RIGHT)).toEqual(TAKEN)
    expect(await codes.take(hash, 'third', RIGHT)).toMatchObject({ kind: 'used', attempt: 'second' })
  })
})
