import { describe, expect, test } from '@jest/globals'
import { createProofNonces, NONCE_LIFETIME_MS, type NonceSettings } from '../../src/signed/proof-nonces.js'

const KEY = 'a key of at least thirty-two characters'
const NEW_KEY = 'another key, which will be the first one'
const MINUTE = 60_000
/** In the middle of a step. */
const NOW = new Date('2026-11-27T12:00:30Z')

const SETTINGS: NonceSettings = { keys: [KEY], role: 'authorization server', server: 'https://auth.example' }
const build = (change: Partial<NonceSettings> = {}) => createProofNonces({ ...SETTINGS, ...change })
const at = (minutes: number) => new Date(NOW.getTime() + minutes * MINUTE)

describe('A nonce', () => {
  test.each([
    { minutes: -3, judgement: 'refused' },
    { minutes: -2, judgement: 'old' },
    { minutes: -1, judgement: 'old' },
    { minutes: 0, judgement: 'newest' },
    { minutes: 1, judgement: 'newest' },
    { minutes: 2, judgement: 'refused' }
  ])('made $minutes minutes from now is $judgement', ({ minutes, judgement }) => {
    expect(build().judge(build().newest(at(minutes)), NOW)).toBe(judgement)
  })

  test('is accepted for four minutes at most', () => {
    const start = new Date('2026-11-27T12:00:00Z').getTime()
    const nonce = build().newest(new Date(start))
    const accepted = [-MINUTE - 1, -MINUTE, 3 * MINUTE - 1, 3 * MINUTE].map(
      (after) => build().judge(nonce, new Date(start + after)) !== 'refused'
    )
    expect(accepted).toEqual([false, true, true, false])
    expect(NONCE_LIFETIME_MS).toBe(4 * MINUTE)
  })

  test('is the same for all requests of a minute, and has 27 characters that a header may have (RFC 9449 §8.1)', () => {
    const nonce = build().newest(new Date('2026-11-27T12:00:00Z'))
    expect(build().newest(new Date('2026-11-27T12:00:59.999Z'))).toBe(nonce)
    expect(nonce).toMatch(/^[\w-]{27}$/)
  })

  test.each<{ name: string; change: Partial<NonceSettings> }>([
    { name: 'another key', change: { keys: [NEW_KEY] } },
    { name: 'another role', change: { role: 'resource server' } },
    { name: 'another server', change: { server: 'https://auth.example/' } }
  ])('of $name is refused', ({ change }) => {
    expect(build().judge(build(change).newest(NOW), NOW)).toBe('refused')
  })

  const nonce = build().newest(NOW)
  const bytes = Buffer.from(nonce, 'base64url')
  test.each([
    { name: 'that is empty', given: '' },
    { name: 'with a changed step', given: changed(3, bytes) },
    { name: 'with a changed first byte of its MAC', given: changed(4, bytes) },
    { name: 'with a changed last byte of its MAC', given: changed(19, bytes) },
    { name: 'that is shorter than a step', given: bytes.subarray(0, 3).toString('base64url') },
    { name: 'without a MAC', given: bytes.subarray(0, 4).toString('base64url') },
    { name: 'that is a byte shorter', given: bytes.subarray(0, 19).toString('base64url') },
    { name: 'that is a byte longer', given: Buffer.concat([bytes, Buffer.alloc(1)]).toString('base64url') },
    { name: 'with a character that is not base64url', given: `${nonce.slice(0, 26)}!` },
    { name: 'with padding', given: `${nonce}=` }
  ])('$name is refused', ({ given }) => {
    expect(build().judge(given, NOW)).toBe('refused')
  })

  test('in another spelling of the same bytes is refused', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet[alphabet.indexOf(nonce.at(-1) ?? '') + 1] ?? ''
    const other = nonce.slice(0, -1) + last
    expect(Buffer.from(other, 'base64url')).toEqual(bytes)
    expect(build().judge(other, NOW)).toBe('refused')
  })
})

function changed(index: number, bytes: Buffer): string {
  const copy = Buffer.from(bytes)
  copy[index] = (copy[index] ?? 0) ^ 1
  return copy.toString('base64url')
}

describe('The rotation of keys', () => {
  const former = build()
  const prepared = build({ keys: [KEY, NEW_KEY] })
  const rotated = build({ keys: [NEW_KEY, KEY] })

  test('refuses no nonce, whichever process made it, once all of them have the new key', () => {
    expect(prepared.judge(rotated.newest(NOW), NOW)).toBe('old')
    expect(rotated.judge(prepared.newest(NOW), NOW)).toBe('old')
    expect(prepared.judge(former.newest(NOW), NOW)).toBe('newest')
    expect(rotated.judge(rotated.newest(NOW), NOW)).toBe('newest')
  })

  test('ends with the removal of the former key, which refuses its nonces', () => {
    expect(build({ keys: [NEW_KEY] }).judge(former.newest(NOW), NOW)).toBe('refused')
  })
})

test('Two processes whose clocks differ by a minute accept and keep the nonces of the one that is ahead', () => {
  const [ahead, behind] = [at(1), NOW]
  const nonce = build().newest(ahead)
  expect(build().judge(nonce, behind)).toBe('newest')
  expect(build().judge(nonce, ahead)).toBe('newest')
  expect(build().judge(build().newest(behind), ahead)).toBe('old')
})

test('Nonces without a key are a mistake of the settings', () => {
  expect(() => build({ keys: [] })).toThrow(TypeError)
})
