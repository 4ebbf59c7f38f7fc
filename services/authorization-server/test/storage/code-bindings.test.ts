import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import { type CodeBinding, type CodeStore, createCodeStore } from '../../src/storage/codes.js'
import { REDIS_KINDS } from '../support/redis-kinds.js'
import { newDigest } from '../support/stored-grant.js'

const PLAIN: CodeBinding = { clientId: 'a', redirectUri: 'b', codeChallenge: 'c', audience: 'd' }

// What the record itself is made of, and what texts are spoilt by: each must stay what it is, and apart from all others.
const TEXTS = [
  '',
  ' ',
  '  ',
  'a b',
  'a%20b',
  'a+b',
  'a%2520b',
  'issued ',
  'taken 1 2 ',
  '\0',
  'a\0b',
  'a\nb',
  'a\r\nb',
  '%',
  '%%',
  '%w',
  '^.*$',
  '"',
  '\\',
  'é',
  'e\u0301',
  'Ã©',
  '%C3%A9',
  '\u{1f511}',
  '\u2028',
  '\ufffd'
]

describe.each(REDIS_KINDS)('what a code is bound to, in $name', ({ create }) => {
  let redis: TestRedis
  let codes: CodeStore

  beforeAll(() => {
    redis = create()
    codes = createCodeStore(redis.client, () => new Date())
  })
  afterAll(() => redis.close())

  async function issued(binding: CodeBinding) {
    const digest = newDigest()
    await codes.put(digest, { grantId: 'grant', binding, sealedAnswer: Buffer.from('sealed') }, 20_000)
    return digest
  }

  const presented = ({ audience, ...binding }: CodeBinding) => ({ ...binding, resource: audience })

  test.each([
    { property: 'clientId', mismatch: 'client' },
    { property: 'redirectUri', mismatch: 'redirect_uri' },
    { property: 'codeChallenge', mismatch: 'code_challenge' },
    { property: 'audience', mismatch: 'resource' }
  ])('$property is compared character by character, whatever it holds', async ({ property, mismatch }) => {
    // Without a challenge or a resource nothing is asked for: the empty text stands for that.
    const texts = property === 'audience' ? TEXTS.slice(1) : TEXTS
    for (const text of texts) {
      const digest = await issued({ ...PLAIN, [property]: text })
      const other = texts.filter((each) => each !== text).map((each) => ({ ...PLAIN, [property]: each }))
      const found = await Promise.all(other.map((binding) => codes.take(digest, presented(binding))))
      expect([text, new Set(found.map((each) => JSON.stringify(each)))]).toEqual([
        text,
        new Set([JSON.stringify({ kind: 'bound_elsewhere', mismatch })])
      ])
      const right = presented({ ...PLAIN, [property]: text })
      expect(await codes.take(digest, right)).toMatchObject({ kind: 'taken', grantId: 'grant' })
      expect(await codes.take(digest, right)).toEqual({ kind: 'spent', grantId: 'grant', mismatch: undefined })
    }
  })

  test.each([
    { name: 'a client id that holds the redirect URI', binding: { ...PLAIN, clientId: 'a b', redirectUri: 'c' } },
    { name: 'a redirect URI that holds the challenge', binding: { ...PLAIN, redirectUri: 'b c', codeChallenge: 'd' } },
    { name: 'a challenge that holds the resource', binding: { ...PLAIN, codeChallenge: 'c d', audience: 'grant' } },
    { name: 'the start of each', binding: { ...PLAIN, clientId: '', redirectUri: '', codeChallenge: undefined } }
  ])('$name is not taken for it', async ({ binding }) => {
    const digest = await issued(PLAIN)
    expect(await codes.take(digest, presented(binding))).toMatchObject({ kind: 'bound_elsewhere' })
    expect(await codes.take(digest, { ...presented(PLAIN), resource: 'd grant' })).toMatchObject({
      mismatch: 'resource'
    })
    expect(await codes.take(digest, presented(PLAIN))).toMatchObject({ kind: 'taken' })
  })

  test('half a pair of surrogates, which no text in UTF-8 can hold, fails nothing', async () => {
    const digest = await issued({ ...PLAIN, redirectUri: '\ud83d' })
    expect(await codes.take(digest, presented(PLAIN))).toMatchObject({ mismatch: 'redirect_uri' })
    expect(await codes.take(digest, presented({ ...PLAIN, redirectUri: '\ud83d' }))).toMatchObject({ kind: 'taken' })
  })
})
