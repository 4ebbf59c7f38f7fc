import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { digestToken, type TokenDigest } from '@valetkey/oauth-protocol'
import { type CodeBinding, type CodePresentation, type CodeStore, createCodeStore } from '../../src/storage/codes.js'
import { REDIS_KINDS } from '../support/redis-kinds.js'
import { newDigest } from '../support/stored-grant.js'

const BINDING = {
  clientId: 'printer',
  redirectUri: 'https://app.example/callback?a=%C3%BC&b="c"',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  audience: 'https://files.example'
}
const RIGHT: CodePresentation = {
  clientId: BINDING.clientId,
  redirectUri: BINDING.redirectUri,
  codeChallenge: BINDING.codeChallenge,
  resource: undefined
}
const TAKEN = { kind: 'taken', grantId: 'grant-1', attempt: expect.any(String) }
const SPENT = { kind: 'spent', grantId: 'grant-1', mismatch: undefined }

const MISMATCHES = [
  { mismatch: 'client', change: { clientId: 'Printer' } },
  { mismatch: 'client', change: { clientId: '' } },
  { mismatch: 'redirect_uri', change: { redirectUri: `${RIGHT.redirectUri} ` } },
  { mismatch: 'redirect_uri', change: { redirectUri: '' } },
  { mismatch: 'code_challenge', change: { codeChallenge: undefined } },
  { mismatch: 'code_challenge', change: { codeChallenge: RIGHT.codeChallenge?.toLowerCase() } },
  { mismatch: 'resource', change: { resource: 'https://files.example/' } },
  { mismatch: 'client', change: { clientId: 'x', redirectUri: 'x', codeChallenge: 'x', resource: 'x' } },
  { mismatch: 'redirect_uri', change: { redirectUri: 'x', codeChallenge: 'x', resource: 'x' } },
  { mismatch: 'code_challenge', change: { codeChallenge: 'x', resource: 'x' } }
]

const recordOf = (grantId: string, binding: CodeBinding = BINDING) => ({
  grantId,
  binding,
  sealedAnswer: Buffer.from('sealed')
})

describe.each(REDIS_KINDS)('authorization codes in $name', ({ create }) => {
  let redis: TestRedis
  let codes: CodeStore
  let digest: TokenDigest
  let now: number

  beforeAll(() => {
    redis = create()
    codes = createCodeStore(redis.client, () => new Date(now))
  })
  beforeEach(async () => {
    await redis.client.flushdb()
    now = Date.now()
    digest = newDigest()
    await codes.put(digest, recordOf('grant-1'), 20_000)
  })
  afterAll(() => redis.close())

  async function onlyKey(): Promise<string> {
    const keys = await redis.client.keys('*')
    expect(keys).toHaveLength(1)
    return keys[0] ?? ''
  }

  /** What was written so long ago has so much less to live. */
  async function age(milliseconds: number): Promise<void> {
    now += milliseconds
    const key = await onlyKey()
    await redis.client.pexpire(key, (await redis.client.pttl(key)) - milliseconds)
  }

  async function takeAttempt(): Promise<string> {
    const found = await codes.take(digest, RIGHT)
    if (found.kind !== 'taken') throw new Error(`not taken but ${found.kind}`)
    return found.attempt
  }

  test('one is taken once; after that it is spent', async () => {
    expect(await codes.take(digest, RIGHT)).toEqual(TAKEN)
    for (let time = 0; time < 3; time++) expect(await codes.take(digest, RIGHT)).toEqual(SPENT)
  })

  test('of fifty who take it at once, one gets it', async () => {
    const found = await Promise.all(Array.from({ length: 50 }, () => codes.take(digest, RIGHT)))
    expect(found.map(({ kind }) => kind).sort()).toEqual([...Array(49).fill('spent'), 'taken'])
  })

  test('it is one string, and so is its tombstone, under the same key', async () => {
    const key = await onlyKey()
    expect(await redis.client.get(key)).toMatch(/^issued /)
    await codes.take(digest, RIGHT)
    expect(await onlyKey()).toBe(key)
    expect(await redis.client.get(key)).toMatch(/^taken /)
  })

  test('another digest is unknown', async () => {
    expect(await codes.take(newDigest(), RIGHT)).toEqual({ kind: 'unknown' })
  })

  test('the resource may be named', async () => {
    expect(await codes.take(digest, { ...RIGHT, resource: BINDING.audience })).toEqual(TAKEN)
  })

  test('one without a challenge is taken without, and not with one', async () => {
    const plain = newDigest()
    await codes.put(plain, recordOf('grant-2', { ...BINDING, codeChallenge: undefined }), 20_000)
    expect(await codes.take(plain, RIGHT)).toEqual({ kind: 'bound_elsewhere', mismatch: 'code_challenge' })
    expect(await codes.take(plain, { ...RIGHT, codeChallenge: undefined })).toMatchObject({ grantId: 'grant-2' })
  })

  test.each(MISMATCHES)('$change: $mismatch, and it can be taken still', async ({ mismatch, change }) => {
    expect(await codes.take(digest, { ...RIGHT, ...change })).toEqual({ kind: 'bound_elsewhere', mismatch })
    expect(await codes.take(digest, RIGHT)).toEqual(TAKEN)
  })

  test.each(MISMATCHES)('spent and $change: spent and $mismatch', async ({ mismatch, change }) => {
    await codes.take(digest, RIGHT)
    expect(await codes.take(digest, { ...RIGHT, ...change })).toEqual({ ...SPENT, mismatch })
  })

  test('it ends by itself, and so does what is left of it; a wrong request does not prolong it', async () => {
    await age(5_000)
    await codes.take(digest, { ...RIGHT, clientId: 'x' })
    expect(await redis.client.pttl(await onlyKey())).toBeLessThanOrEqual(15_000)
    await codes.take(digest, RIGHT)
    const remaining = await redis.client.pttl(await onlyKey())
    expect(remaining).toBeGreaterThan(50_000)
    expect(remaining).toBeLessThanOrEqual(60_000)
    await codes.take(digest, RIGHT)
    expect(await redis.client.pttl(await onlyKey())).toBeLessThanOrEqual(remaining)
  })

  test('one whose life is over is unknown', async () => {
    const brief = newDigest()
    await codes.put(brief, recordOf('grant-3'), 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await codes.take(brief, RIGHT)).toEqual({ kind: 'unknown' })
  })

  test('its sealed answer is there while it can be taken, and in no tombstone', async () => {
    expect(await codes.findSealedAnswer(digest)).toEqual(Buffer.from('sealed'))
    expect(await codes.findSealedAnswer(newDigest())).toBeUndefined()
    await codes.take(digest, { ...RIGHT, clientId: 'other' })
    expect(await codes.findSealedAnswer(digest)).toEqual(Buffer.from('sealed'))
    const taken = await codes.take(digest, RIGHT)
    expect(await codes.findSealedAnswer(digest)).toBeUndefined()
    expect(await redis.client.get(await onlyKey())).not.toContain(Buffer.from('sealed').toString('base64'))
    if (taken.kind === 'taken') await codes.putBack(digest, taken.attempt)
    expect(await codes.findSealedAnswer(digest)).toBeUndefined()
  })

  test('one that was issued without a form has no answer', async () => {
    const other = newDigest()
    await codes.put(other, { ...recordOf('grant-4'), sealedAnswer: undefined }, 20_000)
    expect(await codes.findSealedAnswer(other)).toBeUndefined()
  })

  test('two codes know nothing of each other', async () => {
    const other = newDigest()
    await codes.put(other, recordOf('grant-2', { ...BINDING, clientId: 'other' }), 20_000)
    await codes.take(digest, RIGHT)
    expect(await codes.take(other, { ...RIGHT, clientId: 'other' })).toMatchObject({
      kind: 'taken',
      grantId: 'grant-2'
    })
  })

  test('neither the code nor its digest’s bytes are among the values', async () => {
    const code = 'vk_ac_the-code'
    await redis.client.flushdb()
    await codes.put(digestToken(code), recordOf('grant-1'), 20_000)
    await codes.take(digestToken(code), RIGHT)
    const key = await onlyKey()
    expect(key + (await redis.client.get(key))).not.toContain('the-code')
  })

  describe('put back', () => {
    test('it has what was left of its life, and can be taken again, once', async () => {
      await age(5_000)
      const attempt = await takeAttempt()
      await age(4_000)
      await codes.putBack(digest, attempt)
      const remaining = await redis.client.pttl(await onlyKey())
      expect(remaining).toBeLessThanOrEqual(11_000)
      expect(remaining).toBeGreaterThan(6_000)
      expect(await codes.take(digest, { ...RIGHT, clientId: 'x' })).toMatchObject({ kind: 'bound_elsewhere' })
      expect(await codes.take(digest, RIGHT)).toEqual(TAKEN)
      expect(await codes.take(digest, RIGHT)).toEqual(SPENT)
    })

    test('again and again: its life goes on, and does not start anew', async () => {
      for (const left of [15_000, 10_000, 5_000]) {
        const attempt = await takeAttempt()
        await age(5_000)
        await codes.putBack(digest, attempt)
        expect(await redis.client.pttl(await onlyKey())).toBeLessThanOrEqual(left)
      }
      const attempt = await takeAttempt()
      await age(5_000)
      await codes.putBack(digest, attempt)
      expect(await codes.take(digest, RIGHT)).toEqual({ kind: 'unknown' })
    })

    test('it is not, when its life is over: it is unknown then, and not spent', async () => {
      const attempt = await takeAttempt()
      await age(20_000)
      await codes.putBack(digest, attempt)
      expect(await codes.take(digest, RIGHT)).toEqual({ kind: 'unknown' })
    })

    test('it is not, when its tombstone is gone', async () => {
      const attempt = await takeAttempt()
      await redis.client.flushdb()
      await codes.putBack(digest, attempt)
      expect(await codes.take(digest, RIGHT)).toEqual({ kind: 'unknown' })
    })

    test('by another attempt than the one that took it, it is not', async () => {
      const attempt = await takeAttempt()
      await codes.putBack(digest, 'another')
      expect(await codes.take(digest, RIGHT)).toEqual(SPENT)
      await codes.putBack(digest, attempt)
      const next = await takeAttempt()
      expect(next).not.toBe(attempt)
      await codes.putBack(digest, attempt)
      expect(await codes.take(digest, RIGHT)).toEqual(SPENT)
    })

    test.each([
      { clock: 'behind', skew: -15_000, most: 16_000 },
      { clock: 'ahead', skew: 10_000, most: 6_000 }
    ])(
      'by a server whose clock is $clock: never for longer than its life less the age of the tombstone',
      async (row) => {
        now += row.skew
        const attempt = await takeAttempt()
        await age(4_000)
        await codes.putBack(digest, attempt)
        const remaining = await redis.client.pttl(await onlyKey())
        expect(remaining).toBeLessThanOrEqual(row.most)
        expect(remaining).toBeGreaterThan(row.most - 5_000)
      }
    )

    test('twice by the same attempt: the code is there once', async () => {
      const attempt = await takeAttempt()
      await Promise.all([codes.putBack(digest, attempt), codes.putBack(digest, attempt)])
      expect(await codes.take(digest, RIGHT)).toEqual(TAKEN)
    })
  })
})
