import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import {
  createSignInAttemptStore,
  type ForeignSignIn,
  type SignInAttemptStore
} from '../../../../src/features/foreign-sign-in/identities/sign-in-attempt-store.js'
import { newRecordAuthentication } from '../../../support/record-authentication.js'
import { REDIS_KINDS } from '../../../support/redis-kinds.js'

describe('sign-in attempts', () => {
  const ATTEMPT: ForeignSignIn = {
    way: 'example',
    query: 'client_id=client_1',
    purpose: { kind: 'sign_in' },
    nonce: 'a-nonce',
    verifier: 'a-verifier',
    startedAt: 1_700_000_000_000
  }

  const of = (stateHash: string, browserHash = 'browser-1') => ({ stateHash, browserHash })

  describe.each(REDIS_KINDS)('sign-in attempts in $name', ({ create }) => {
    let redis: TestRedis
    let attempts: SignInAttemptStore

    beforeAll(() => {
      redis = create()
      attempts = createSignInAttemptStore(redis.client, newRecordAuthentication().records)
    })
    afterAll(() => redis.close())

    test('the browser that began takes the attempt once; later calls see that it was used', async () => {
      await attempts.add(of('state-1'), ATTEMPT, '192.0.2.1')
      expect(await attempts.take(of('state-1'))).toEqual({ kind: 'taken', attempt: ATTEMPT })
      expect(await attempts.take(of('state-1'))).toEqual({ kind: 'used', attempt: ATTEMPT })
    })

    test('of 20 concurrent calls, one takes the attempt', async () => {
      await attempts.add(of('state-2'), ATTEMPT, '192.0.2.1')
      const results = await Promise.all(Array.from({ length: 20 }, () => attempts.take(of('state-2'))))
      expect(results.filter((result) => result?.kind === 'taken')).toHaveLength(1)
      expect(results.filter((result) => result?.kind === 'used')).toHaveLength(19)
    })

    test('another browser takes nothing, before and after the use', async () => {
      await attempts.add(of('state-3'), ATTEMPT, '192.0.2.1')
      expect(await attempts.take(of('state-3', 'browser-2'))).toEqual({ kind: 'other_browser' })
      expect((await attempts.take(of('state-3')))?.kind).toBe('taken')
      expect(await attempts.take(of('state-3', 'browser-2'))).toEqual({ kind: 'other_browser' })
    })

    test('an unknown state is undefined', async () => {
      expect(await attempts.take(of('state-4'))).toBeUndefined()
    })

    test('a record under another key, or an edited one, is undefined', async () => {
      await attempts.add(of('state-5'), ATTEMPT, '192.0.2.1')
      const stored = (await redis.client.get('vk:attempt:{state-5}')) ?? ''
      await redis.client.set('vk:attempt:{state-6}', stored)
      await redis.client.set('vk:attempt:{state-7}', stored.replace('client_1', 'client_2'))
      expect(await attempts.take(of('state-6'))).toBeUndefined()
      expect(await attempts.take(of('state-7'))).toBeUndefined()
    })

    test('keeps the 1,000 newest attempts of one group of addresses', async () => {
      await attempts.add(of('of others'), ATTEMPT, '198.51.100.1')
      for (let count = 0; count <= 1_000; count++) await attempts.add(of(`number ${count}`), ATTEMPT, '192.0.2.9')
      expect(await attempts.take(of('number 0'))).toBeUndefined()
      expect((await attempts.take(of('number 1')))?.kind).toBe('taken')
      expect((await attempts.take(of('of others')))?.kind).toBe('taken')
    })

    test('counts used attempts too: a browser cannot keep more by sending responses', async () => {
      await attempts.add(of('used'), ATTEMPT, '192.0.2.10')
      await attempts.take(of('used'))
      for (let count = 0; count < 1_000; count++) await attempts.add(of(`later ${count}`), ATTEMPT, '192.0.2.10')
      expect(await attempts.take(of('used'))).toBeUndefined()
    })

    test('no key contains the address', async () => {
      await attempts.add(of('state-9'), ATTEMPT, '192.0.2.11')
      expect((await redis.client.keys('*')).filter((key) => key.includes('192.0.2'))).toEqual([])
    })

    test('a stored attempt ends within an hour', async () => {
      await attempts.add(of('state-8'), ATTEMPT, '192.0.2.1')
      expect(await redis.client.ttl('vk:attempt:{state-8}')).toBeLessThanOrEqual(3_600)
    })
  })
})
