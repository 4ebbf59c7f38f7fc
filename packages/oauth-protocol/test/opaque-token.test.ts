import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isClientIdentifier } from '../src/client.js'
import {
  bucketOfAccessToken,
  expiryBucket,
  hashToken,
  hasOwnPrefix,
  isWellFormed,
  newClientIdentifier,
  newOpaqueAccessToken,
  newOpaqueToken,
  type OpaqueTokenKind,
  type RandomBytes
} from '../src/opaque-token.js'

const zeros = (size: number) => new Uint8Array(size)
const EXPIRES_AT = new Date('2026-10-31T17:02:11Z')

const KINDS = [
  { kind: 'accessToken', prefix: 'vk_at_', length: 59 },
  { kind: 'refreshToken', prefix: 'vk_rt_', length: 55 },
  { kind: 'authorizationCode', prefix: 'vk_ac_', length: 55 },
  { kind: 'clientSecret', prefix: 'vk_cs_', length: 55 },
  { kind: 'operatorKey', prefix: 'vk_ok_', length: 55 },
  { kind: 'requestUri', prefix: 'vk_ru_', length: 55 }
] as const

const newValue = (kind: OpaqueTokenKind, source: RandomBytes = randomBytes) =>
  kind === 'accessToken' ? newOpaqueAccessToken(expiryBucket(EXPIRES_AT), source) : newOpaqueToken(kind, source)

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The checksum as a scanner of leaked secrets computes it from the documentation: not with code of ours. */
function checksumOf(text: string): string {
  const digits = Array.from({ length: 6 }, (_, place) => ALPHABET[Math.floor(crc32(text) / 62 ** (5 - place)) % 62])
  return digits.join('')
}
const withChecksum = (text: string) => text + checksumOf(text)

describe('format', () => {
  test.each([
    { name: 'a code of zeros', token: newValue('authorizationCode', zeros), text: `vk_ac_${'0'.repeat(43)}` },
    { name: 'a refresh token of zeros', token: newValue('refreshToken', zeros), text: `vk_rt_${'0'.repeat(43)}` },
    { name: 'a secret of zeros', token: newValue('clientSecret', zeros), text: `vk_cs_${'0'.repeat(43)}` },
    {
      name: 'an access token of zeros, its hour in front',
      token: newValue('accessToken', zeros),
      text: `vk_at_${'25bF'}${'0'.repeat(43)}`
    }
  ])('opaque token: $name is $text and its CRC-32 (RFC 6749 §10.10)', ({ token, text }) => {
    expect(token).toBe(withChecksum(text))
  })

  test.each(KINDS)('opaque token: $kind is $prefix, base62 and a checksum, at most 80 characters', (about) => {
    for (let count = 0; count < 20; count++) {
      const token = newValue(about.kind)
      expect(token).toMatch(new RegExp(`^${about.prefix}[0-9A-Za-z]{${about.length - 6}}$`))
      expect(token).toBe(withChecksum(token.slice(0, -6)))
      expect(token.length).toBeLessThanOrEqual(80)
      expect(isWellFormed(about.kind, token)).toBe(true)
    }
  })

  test.each(KINDS)('opaque token: $kind has 43 random characters, 256 bits (RFC 6749 §10.10)', ({ kind }) => {
    expect(43 * Math.log2(62)).toBeGreaterThan(256)
    const zero = newValue(kind, zeros).slice(0, -6)
    for (let position = 0; position < 43; position++) {
      const one = newValue(kind, (size) =>
        Uint8Array.from({ length: size }, (_, index) => (index === position ? 1 : 0))
      )
      const places = [...one.slice(0, -6)].map((character, index) => (character === zero[index] ? '.' : character))
      expect(places.join('').slice(-43)).toBe(`${'.'.repeat(position)}1${'.'.repeat(42 - position)}`)
    }
  })

  test('client identifier: 130 random bits in 22 characters that need no encoding in Basic or a shell', () => {
    expect(newClientIdentifier(zeros)).toBe('0'.repeat(22))
    for (let count = 0; count < 20; count++) {
      const identifier = newClientIdentifier(randomBytes)
      expect(identifier).toMatch(/^[0-9A-Za-z]{22}$/)
      expect(isClientIdentifier(identifier)).toBe(true)
    }
  })
})

describe('malformed tokens', () => {
  const CODE = newValue('authorizationCode', zeros)
  const BODY = '0'.repeat(43)

  test.each([
    { name: 'nothing', value: '' },
    { name: 'the prefix alone', value: 'vk_ac_' },
    { name: 'a character less', value: CODE.slice(0, -1) },
    { name: 'a character more', value: `${CODE}0` },
    { name: 'a character more, with a valid checksum', value: withChecksum(`vk_ac_${BODY}0`) },
    { name: 'a character less, with a valid checksum', value: withChecksum(`vk_ac_${BODY.slice(1)}`) },
    { name: 'a space before', value: ` ${CODE}` },
    { name: 'a line break after', value: `${CODE}\n` },
    { name: 'no prefix', value: CODE.slice(6) },
    { name: 'the prefix in other case, with a valid checksum', value: withChecksum(`VK_ac_${BODY}`) },
    { name: 'an unknown prefix, with a valid checksum', value: withChecksum(`vk_xx_${BODY}`) },
    { name: 'a hyphen for the underscore, with a valid checksum', value: withChecksum(`vk-ac-${BODY}`) },
    { name: 'a hyphen in the body, with a valid checksum', value: withChecksum(`vk_ac_-${BODY.slice(1)}`) },
    { name: 'an underscore in the body, with a valid checksum', value: withChecksum(`vk_ac__${BODY.slice(1)}`) },
    { name: 'a NUL in the body, with a valid checksum', value: withChecksum(`vk_ac_\u0000${BODY.slice(1)}`) },
    { name: 'a letter outside ASCII in the body', value: `vk_ac_é${CODE.slice(7)}` },
    { name: 'a checksum of zeros', value: `vk_ac_${BODY}000000` },
    { name: 'the body and the checksum without the prefix in it', value: `vk_ac_${withChecksum(BODY)}` },
    { name: 'a text of the right length', value: 'x'.repeat(55) }
  ])('opaque token: $name is refused without a lookup', ({ value }) => {
    expect(isWellFormed('authorizationCode', value)).toBe(false)
  })

  const confusions = KINDS.flatMap(({ kind }) =>
    KINDS.filter((other) => other.kind !== kind).map((other) => [kind, other.kind] as const)
  )
  test.each(confusions)('opaque token: %s is not accepted as %s', (issued, taken) => {
    expect(isWellFormed(taken, newValue(issued))).toBe(false)
  })

  test.each(confusions)('opaque token: %s with the prefix of %s has a wrong checksum', (issued, taken) => {
    const prefix = KINDS.find(({ kind }) => kind === taken)?.prefix ?? ''
    expect(isWellFormed(taken, prefix + newValue(issued).slice(6))).toBe(false)
  })

  test.each(KINDS)('opaque token: one changed character at any place in $kind is detected', ({ kind }) => {
    const token = newValue(kind)
    for (let index = 0; index < token.length; index++) {
      for (const character of `${ALPHABET}_-`) {
        const changed = token.slice(0, index) + character + token.slice(index + 1)
        if (changed !== token && isWellFormed(kind, changed)) throw new Error(`not noticed at ${index}: ${changed}`)
      }
    }
  })

  test.each(KINDS)('opaque token: two swapped neighbouring characters in $kind are detected', ({ kind }) => {
    const token = newValue(kind)
    for (let index = 1; index < token.length; index++) {
      const swapped = token.slice(0, index - 1) + token[index] + token[index - 1] + token.slice(index + 1)
      if (swapped !== token) expect(isWellFormed(kind, swapped)).toBe(false)
    }
  })

  const anyText = fc.array(fc.nat({ max: 0xffff }), { maxLength: 60 }).map((codes) => String.fromCharCode(...codes))
  test('opaque token: no text causes an exception, and no random text is accepted', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...KINDS), (text, about) => {
        expect(isWellFormed(about.kind, text)).toBe(false)
        expect(isWellFormed(about.kind, about.prefix + text)).toBe(false)
      })
    )
  })
})

describe('expiry bucket', () => {
  test.each([
    { time: '1970-01-01T00:00:00.000Z', bucket: 0 },
    { time: '1970-01-01T00:59:59.999Z', bucket: 0 },
    { time: '1970-01-01T01:00:00.000Z', bucket: 1 },
    { time: '2026-10-31T17:02:11.000Z', bucket: 498185 },
    { time: '3655-01-01T00:00:00.000Z', bucket: 14770416 }
  ])('expiry bucket: $time is in hour $bucket, and the token contains it', ({ time, bucket }) => {
    expect(expiryBucket(new Date(time))).toBe(bucket)
    expect(bucketOfAccessToken(newOpaqueAccessToken(bucket, randomBytes))).toBe(bucket)
  })

  test('expiry bucket: every token of the next centuries contains the bucket of its expiry', () => {
    const expiry = fc.date({ min: new Date(0), max: new Date('3600-01-01T00:00:00Z'), noInvalidDate: true })
    fc.assert(
      fc.property(expiry, (expiresAt) => {
        const bucket = expiryBucket(expiresAt)
        expect(bucketOfAccessToken(newOpaqueAccessToken(bucket, randomBytes))).toBe(bucket)
      })
    )
  })

  test.each([
    { lifetime: 1, hours: 1 },
    { lifetime: 3_600, hours: 1 },
    { lifetime: 4 * 3_600, hours: 1 },
    { lifetime: 4 * 3_600 + 1, hours: 2 },
    { lifetime: 86_400, hours: 6 },
    { lifetime: 30 * 86_400, hours: 180 }
  ])('expiry bucket: with lifetimes of up to $lifetime s it is the last of $hours hours', ({ lifetime, hours }) => {
    const before = 498_060
    for (const hour of [before, before + hours - 1]) {
      expect(expiryBucket(new Date(hour * 3_600_000), lifetime)).toBe(before + hours - 1)
    }
    expect(expiryBucket(new Date((before + hours) * 3_600_000), lifetime)).toBe(before + 2 * hours - 1)
  })

  test('expiry bucket: tokens that live at any time are in at most five buckets, and none ends before its token', () => {
    const time = fc.integer({ min: 0, max: 2 ** 41 })
    const lifetime = fc.integer({ min: 1, max: 30 * 86_400 })
    fc.assert(
      fc.property(time, lifetime, (now, seconds) => {
        const ends = Array.from({ length: 101 }, (_, part) => new Date(now + (part * seconds * 1_000) / 100))
        const buckets = ends.map((end) => expiryBucket(end, seconds))
        expect(new Set(buckets).size).toBeLessThanOrEqual(5)
        for (const [index, end] of ends.entries()) {
          expect((Number(buckets[index]) + 1) * 3_600_000).toBeGreaterThan(end.getTime())
        }
      })
    )
  })

  test.each([
    { name: 'a refresh token', value: newValue('refreshToken') },
    { name: 'a token cut short', value: newValue('accessToken').slice(0, -1) },
    { name: 'a token with a wrong checksum', value: `${newValue('accessToken', zeros).slice(0, -6)}000000` },
    { name: 'a token with another bucket', value: newValue('accessToken', zeros).replace('vk_at_2', 'vk_at_3') },
    { name: 'a bucket out of the alphabet', value: withChecksum(`vk_at_2'--${'0'.repeat(43)}`) },
    { name: 'nothing', value: '' }
  ])('expiry bucket: $name has none', ({ value }) => {
    expect(bucketOfAccessToken(value)).toBeUndefined()
  })
})

test('hash: a token is stored as its SHA-256', () => {
  expect(hashToken('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(hashToken('é')).toEqual(createHash('sha256').update('é', 'utf8').digest())
})

describe('hasOwnPrefix', () => {
  test.each(KINDS)('holds for $kind, also for a malformed one', ({ kind, prefix }) => {
    expect([hasOwnPrefix(newValue(kind)), hasOwnPrefix(prefix)]).toEqual([true, true])
  })

  test.each(['', 'vk_', 'vk_rt', 'VK_RT_x', ' vk_rt_x', 'x'])('does not hold for %j', (value) => {
    expect(hasOwnPrefix(value)).toBe(false)
  })
})
