import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { hashToken, type TokenHash } from '@valetkey/oauth-protocol'
import {
  createPushedRequestStore,
  type PushedRequestStore
} from '../../../src/features/pushed-requests/pushed-request-store.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'

const HOUR_MS = 3_600_000
const LIFETIME_MS = 90_000
const QUERY = 'client_id=printer&scope=files.read'

describe.each(REDIS_KINDS)('pushed requests in $name', ({ create }) => {
  let redis: TestRedis
  let requests: PushedRequestStore
  let hash: TokenHash
  let key: string
  let number = 0

  beforeAll(() => {
    redis = create()
    requests = createPushedRequestStore(redis.client, newRecordAuthentication().records)
  })
  beforeEach(async () => {
    number += 1
    hash = hashToken(`request ${number}`)
    key = `vk:par:${hash.toString('hex')}`
    await requests.put(hash, QUERY, LIFETIME_MS)
  })
  afterAll(() => redis.close())

  const open = (browser: string, includesUsed = false) => requests.open(hash, browser, includesUsed)
  /** The time in which browsers may open the request is over. */
  const close = () => redis.client.pexpire(key, HOUR_MS)

  test('an unknown request cannot be opened or used', async () => {
    const unknown = hashToken('unknown')
    expect(await requests.open(unknown, 'one', true)).toBeUndefined()
    expect(await requests.use(unknown, 'decision')).toBe(false)
    expect(await redis.client.exists(`vk:par:${unknown.toString('hex')}`)).toBe(0)
  })

  test('a request that no browser opens is deleted at the end of its lifetime', async () => {
    const left = await redis.client.pttl(key)
    expect(left).toBeGreaterThan(LIFETIME_MS - 10_000)
    expect(left).toBeLessThanOrEqual(LIFETIME_MS)
  })

  test('the first visit keeps the request for an hour after its lifetime, and later visits no longer', async () => {
    expect(await open('one')).toBe(QUERY)
    const first = await redis.client.pttl(key)
    expect(first).toBeGreaterThan(HOUR_MS + LIFETIME_MS - 10_000)
    expect(await open('one')).toBe(QUERY)
    expect(await open('two')).toBe(QUERY)
    expect(await redis.client.pttl(key)).toBeLessThanOrEqual(first)
  })

  test('after its lifetime only a browser that opened the request can open it', async () => {
    await open('one')
    await close()
    expect(await open('one')).toBe(QUERY)
    expect(await open('two')).toBeUndefined()
    expect(await open('two', true)).toBeUndefined()
  })

  test('at most 20 browsers can open a request, and these can open it again', async () => {
    for (let browser = 1; browser <= 20; browser++) expect(await open(`browser ${browser}`)).toBe(QUERY)
    expect(await open('browser 21')).toBeUndefined()
    expect(await open('browser 1')).toBe(QUERY)
    expect(await open('browser 20')).toBe(QUERY)
  })

  test('one of several decisions uses the request', async () => {
    const outcomes = await Promise.all(['a', 'b', 'c'].map((decision) => requests.use(hash, decision)))
    expect(outcomes.filter(Boolean)).toHaveLength(1)
  })

  test('a decision whose command is sent again after a broken connection still uses the request', async () => {
    expect(await requests.use(hash, 'decision')).toBe(true)
    expect(await requests.use(hash, 'decision')).toBe(true)
    expect(await requests.use(hash, 'another')).toBe(false)
  })

  test('a used request can be opened only for a repeated form, by a browser that opened it', async () => {
    await open('one')
    await requests.use(hash, 'decision')
    expect(await open('one')).toBeUndefined()
    expect(await open('one', true)).toBe(QUERY)
    expect(await open('two', true)).toBeUndefined()
  })

  test('a decision that failed gives the request back, and no other decision can', async () => {
    await open('one')
    await requests.use(hash, 'failed')
    await requests.giveBack(hash, 'another')
    expect(await open('one')).toBeUndefined()
    await requests.giveBack(hash, 'failed')
    expect(await open('one')).toBe(QUERY)
    expect(await requests.use(hash, 'another')).toBe(true)
    await requests.giveBack(hash, 'failed')
    expect(await open('one')).toBeUndefined()
  })

  test('giving back a request that has expired stores nothing', async () => {
    await requests.use(hash, 'decision')
    await redis.client.del(key)
    await requests.giveBack(hash, 'decision')
    expect(await redis.client.exists(key)).toBe(0)
  })

  test('a record that this service did not write is no request', async () => {
    await redis.client.hset(key, 'body', `${'A'.repeat(43)} client_id=printer`)
    expect(await open('one')).toBeUndefined()
  })

  test('a record copied to the key of another request is no request', async () => {
    const other = hashToken('copied')
    const body = (await redis.client.hget(key, 'body')) ?? ''
    await redis.client.hset(`vk:par:${other.toString('hex')}`, 'body', body)
    expect(await requests.open(other, 'one', false)).toBeUndefined()
  })
})
