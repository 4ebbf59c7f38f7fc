import { describe, expect, test } from '@jest/globals'
import { objectionToKeySetUrl, readKeySet } from '../../src/signed/key-set.js'
import { createKey } from './proof-fixture.js'

const { jwk: EC } = await createKey('ES256')
const { jwk: OKP } = await createKey('EdDSA')
const { jwk: RSA } = await createKey('RS256')

describe('a key set of a client (RFC 7517 §5)', () => {
  test('has its usable keys; the others are skipped with their reason', () => {
    const keys = [
      { ...EC, kid: 'a' },
      { kty: 'EC', crv: 'P-384' },
      { ...RSA, kid: 'b', alg: 'RS256' },
      { ...OKP, use: 'enc' },
      7
    ]
    expect(readKeySet({ keys, other: true })).toEqual({
      kind: 'keys',
      keys: [
        expect.objectContaining({ kid: 'a', algorithms: ['ES256'] }),
        expect.objectContaining({ kid: 'b', algorithms: ['RS256'] })
      ],
      skipped: [
        { place: 'keys[1]', reason: 'must have the curve P-256' },
        { place: 'keys[3]', reason: 'must have the use sig, or none' },
        { place: 'keys[4]', reason: 'must be a JSON object' }
      ]
    })
  })

  test('has a key that is in it twice once, and one key for each kid', () => {
    const read = readKeySet({ keys: [{ ...EC, kid: 'a' }, { ...EC, kid: 'b' }, { ...OKP, kid: 'a' }, RSA] })
    expect(read).toMatchObject({
      kind: 'keys',
      keys: [{ kid: 'a' }, { kid: undefined }],
      skipped: [{ place: 'keys[1]' }, { place: 'keys[2]', reason: 'must have a kid of its own' }]
    })
  })

  test('has at most 20 usable keys; others do not count', async () => {
    const keys = await Promise.all(Array.from({ length: 21 }, async () => (await createKey('EdDSA')).jwk))
    const unusable = Array.from({ length: 30 }, () => ({ kty: 'oct' }))
    expect(readKeySet({ keys: [...unusable, ...keys.slice(1)] })).toMatchObject({ kind: 'keys', keys: { length: 20 } })
    expect(readKeySet({ keys })).toEqual({ kind: 'refused', objection: 'must not have more than 20 keys' })
  })

  test.each([
    ['null', null, /array keys/],
    ['an array', [EC], /array keys/],
    ['keys that are no array', { keys: { a: EC } }, /array keys/],
    ['no key', { keys: [] }, /^must have a key$/],
    ['only unusable keys', { keys: [{ kty: 'oct', k: 'AA' }] }, /keys\[0\] must not have the members of a private/]
  ])('is refused: %s', (_what, value, objection) => {
    expect(readKeySet(value)).toEqual({ kind: 'refused', objection: expect.stringMatching(objection) })
  })
})

describe('the address of a key set (RFC 7591 §2, jwks_uri)', () => {
  test.each([
    'https://keys.example/jwks.json',
    'https://keys.example',
    'https://keys.example:8443/keys?set=1',
    `https://keys.example/${'x'.repeat(1_979)}`
  ])('is accepted: %s', (url) => {
    expect(objectionToKeySetUrl(url)).toBeUndefined()
  })

  test.each([
    undefined,
    7,
    '',
    'http://keys.example/jwks.json',
    'https://',
    'https://user@keys.example/jwks.json',
    'https://:pw@keys.example/jwks.json',
    'https://keys.example/jwks.json#a',
    ' https://keys.example/',
    `https://keys.example/${'x'.repeat(1_980)}`
  ])('is refused: %s', (url) => {
    expect(objectionToKeySetUrl(url)).toMatch(/^must /)
  })
})
