import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { hashToken, type TokenHash } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { type CodeStore, createCodeStore } from '../../../src/storage/redis/codes.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { ALLOWED, age, BINDING, REDIRECT, RIGHT, recordOf } from '../../support/code-records.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { REDIS_KINDS } from '../../support/redis-kinds.js'
import { newHash } from '../../support/stored-grant.js'

const KEPT_EXPIRED_MS = 60_000

describe('codes', () => {
  const TAKEN = { kind: 'taken', allowed: ALLOWED, undelivered: [] }
  const usedBy = (attempt: string) => ({ ...TAKEN, kind: 'used', attempt, mismatch: undefined })

  const MISMATCHES = [
    { mismatch: 'client', change: { clientId: 'Printer' } },
    { mismatch: 'client', change: { clientId: '' } },
    { mismatch: 'redirect_uri', change: { redirectUri: `${RIGHT.redirectUri} ` } },
    { mismatch: 'redirect_uri', change: { redirectUri: '' } },
    { mismatch: 'code_challenge', change: { codeChallenge: undefined } },
    { mismatch: 'code_challenge', change: { codeChallenge: RIGHT.codeChallenge?.toLowerCase() } },
    { mismatch: 'resource', change: { resource: 'https://files.example//' } },
    { mismatch: 'client', change: { clientId: 'x', redirectUri: 'x', codeChallenge: 'x', resource: 'x' } },
    { mismatch: 'redirect_uri', change: { redirectUri: 'x', codeChallenge: 'x', resource: 'x' } },
    { mismatch: 'code_challenge', change: { codeChallenge: 'x', resource: 'x' } }
  ]

  describe.each(REDIS_KINDS)('authorization codes in $name', ({ create }) => {
    let redis: TestRedis
    let codes: CodeStore
    let hash: TokenHash

    beforeAll(() => {
      redis = create()
      codes = createCodeStore(redis.client, newRecordAuthentication().records)
    })
    beforeEach(async () => {
      await redis.client.flushdb()
      hash = newHash()
      await codes.put(hash, recordOf(), 20_000)
    })
    afterAll(() => redis.close())

    async function onlyKey(): Promise<string> {
      const keys = await redis.client.keys('*')
      expect(keys).toHaveLength(1)
      return keys[0] ?? ''
    }
    const remaining = async () => redis.client.pttl(await onlyKey())

    test('take: the first call returns the allowed grant, the second one used', async () => {
      expect(await codes.take(hash, 'first', RIGHT)).toEqual(TAKEN)
      for (const attempt of ['second', 'third']) expect(await codes.take(hash, attempt, RIGHT)).toEqual(usedBy('first'))
    })

    test('take: of 50 concurrent calls one takes the code', async () => {
      const found = await Promise.all(Array.from({ length: 50 }, (_, index) => codes.take(hash, `${index}`, RIGHT)))
      expect(found.map(({ kind }) => kind).sort()).toEqual(['taken', ...Array(49).fill('used')])
    })

    test('take: a script that the driver sends again returns taken', async () => {
      const found = await Promise.all([codes.take(hash, 'first', RIGHT), codes.take(hash, 'first', RIGHT)])
      expect(found).toEqual([TAKEN, TAKEN])
      expect(await codes.take(hash, 'second', RIGHT)).toEqual(usedBy('first'))
    })

    test('record and tombstone are one string under the same key', async () => {
      const key = await onlyKey()
      expect(await redis.client.get(key)).toMatch(/^issued /)
      await codes.take(hash, 'first', RIGHT)
      expect(await onlyKey()).toBe(key)
      expect(await redis.client.get(key)).toMatch(/^taken first /)
    })

    test('take: another hash is unknown', async () => {
      expect(await codes.take(newHash(), 'first', RIGHT)).toEqual({ kind: 'unknown' })
    })

    test('take: accepts a request that names the resource', async () => {
      expect(await codes.take(hash, 'first', { ...RIGHT, resource: BINDING.audience })).toEqual(TAKEN)
    })

    test('take: a code without a challenge requires a request without a verifier', async () => {
      const plain = newHash()
      await codes.put(plain, recordOf({ binding: { ...BINDING, codeChallenge: undefined } }), 20_000)
      const mismatch = { kind: 'bound_elsewhere', mismatch: 'code_challenge' }
      expect(await codes.take(plain, 'first', RIGHT)).toEqual(mismatch)
      expect(await codes.take(plain, 'first', { ...RIGHT, codeChallenge: undefined })).toMatchObject({ kind: 'taken' })
    })

    test.each(MISMATCHES)(
      'take: $change returns the mismatch $mismatch and leaves the code',
      async ({ mismatch, change }) => {
        expect(await codes.take(hash, 'first', { ...RIGHT, ...change })).toEqual({ kind: 'bound_elsewhere', mismatch })
        expect(await codes.take(hash, 'second', RIGHT)).toEqual(TAKEN)
      }
    )

    test.each(MISMATCHES)(
      'take: a used code and $change: used, with the mismatch $mismatch',
      async ({ mismatch, change }) => {
        await codes.take(hash, 'first', RIGHT)
        const found = await codes.take(hash, 'second', { ...RIGHT, ...change })
        expect(found).toEqual({ ...usedBy('first'), mismatch })
      }
    )

    test('a mismatch or second use does not extend a record; a tombstone lasts one minute', async () => {
      await age(redis.client, await onlyKey(), 5_000)
      await codes.take(hash, 'wrong', { ...RIGHT, clientId: 'x' })
      expect(await remaining()).toBeLessThanOrEqual(15_000 + KEPT_EXPIRED_MS)
      await codes.take(hash, 'first', RIGHT)
      const ofTombstone = await remaining()
      expect(ofTombstone).toBeGreaterThan(50_000)
      expect(ofTombstone).toBeLessThanOrEqual(60_000)
      await codes.take(hash, 'second', RIGHT)
      expect(await remaining()).toBeLessThanOrEqual(ofTombstone)
    })

    test.each([
      { name: 'a matching request', change: {} },
      { name: 'a mismatching request', change: { clientId: 'x', redirectUri: 'x' } }
    ])('take: $name after the expiry of the code: expired for one minute, then unknown', async ({ change }) => {
      await age(redis.client, await onlyKey(), 20_000)
      expect(await codes.take(hash, 'first', { ...RIGHT, ...change })).toEqual({ kind: 'expired' })
      await age(redis.client, await onlyKey(), KEPT_EXPIRED_MS - 10_000)
      expect(await codes.take(hash, 'second', RIGHT)).toEqual({ kind: 'expired' })
      await age(redis.client, await onlyKey(), 10_000)
      expect(await codes.take(hash, 'third', RIGHT)).toEqual({ kind: 'unknown' })
    })

    test('the encrypted redirect is stored until the code is taken, and not in the tombstone', async () => {
      expect(await codes.findEncryptedRedirect(hash)).toEqual(REDIRECT)
      expect(await codes.findEncryptedRedirect(newHash())).toBeUndefined()
      await codes.take(hash, 'wrong', { ...RIGHT, clientId: 'other' })
      expect(await codes.findEncryptedRedirect(hash)).toEqual(REDIRECT)
      await codes.take(hash, 'first', RIGHT)
      expect(await codes.findEncryptedRedirect(hash)).toBeUndefined()
      expect(await redis.client.get(await onlyKey())).not.toContain(REDIRECT.toString('base64'))
      await codes.giveBack(hash, 'first', { allowed: ALLOWED, undelivered: [] })
      expect(await codes.findEncryptedRedirect(hash)).toBeUndefined()
    })

    test('the encrypted redirect expires with the code', async () => {
      await age(redis.client, await onlyKey(), 20_000)
      expect(await codes.findEncryptedRedirect(hash)).toBeUndefined()
    })

    test('a code that was issued without a form has no redirect', async () => {
      const other = newHash()
      await codes.put(other, { allowed: ALLOWED, encryptedRedirect: undefined }, 20_000)
      expect(await codes.findEncryptedRedirect(other)).toBeUndefined()
      expect(await codes.take(other, 'first', RIGHT)).toEqual(TAKEN)
    })

    test('two codes do not affect each other', async () => {
      const other = newHash()
      await codes.put(other, recordOf({ userId: 'bob' }), 20_000)
      await codes.take(hash, 'first', RIGHT)
      expect(await codes.take(other, 'second', RIGHT)).toMatchObject({ kind: 'taken', allowed: { userId: 'bob' } })
    })

    test('neither key nor value contains the code', async () => {
      const code = 'vk_ac_the-code'
      await redis.client.flushdb()
      await codes.put(hashToken(code), recordOf(), 20_000)
      await codes.take(hashToken(code), 'first', RIGHT)
      const key = await onlyKey()
      expect(key + (await redis.client.get(key))).not.toContain('the-code')
    })
  })
})

describe('codes that are given back', () => {
  const after = (...undelivered: string[]) => ({ allowed: ALLOWED, undelivered })
  const TAKEN = { kind: 'taken', ...after() }

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
})

describe('without Redis', () => {
  const { records } = newRecordAuthentication()

  test('every method throws StoreUnavailable without Redis', async () => {
    const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
    const codes = createCodeStore(nowhere, records)
    const hash = newHash()
    await expect(codes.put(hash, recordOf(), 20_000)).rejects.toThrow(StoreUnavailable)
    await expect(codes.findEncryptedRedirect(hash)).rejects.toThrow(StoreUnavailable)
    await expect(codes.take(hash, 'first', RIGHT)).rejects.toThrow(StoreUnavailable)
    const content = { allowed: ALLOWED, undelivered: [] }
    await expect(codes.giveBack(hash, 'first', content)).rejects.toThrow(StoreUnavailable)
    nowhere.disconnect()
  })
})
