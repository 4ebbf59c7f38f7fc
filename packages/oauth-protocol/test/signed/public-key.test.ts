import { expect, test } from '@jest/globals'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { PRIVATE_KEY_MEMBERS, readPublicKey } from '../../src/signed/public-key.js'
import { createKey } from './proof-fixture.js'

const KEYS = {
  EC: (await createKey('ES256')).jwk,
  OKP: (await createKey('EdDSA')).jwk,
  RSA: (await createKey('PS256')).jwk
}

test.each(Object.entries(KEYS))('The thumbprint of a key of type %s is that of jose (RFC 7638)', async (_type, jwk) => {
  const read = readPublicKey({ ...jwk, kid: 'one', use: 'sig', key_ops: ['verify'], extra: true })
  expect(read).toMatchObject({ kind: 'key', key: { thumbprint: await calculateJwkThumbprint(jwk), kid: 'one' } })
})

test.each([
  { jwk: KEYS.EC, algorithms: ['ES256'] },
  { jwk: { ...KEYS.EC, alg: 'ES256' }, algorithms: ['ES256'] },
  { jwk: KEYS.OKP, algorithms: ['EdDSA', 'Ed25519'] },
  { jwk: { ...KEYS.OKP, alg: 'Ed25519' }, algorithms: ['EdDSA', 'Ed25519'] },
  { jwk: KEYS.RSA, algorithms: ['PS256', 'RS256'] },
  { jwk: { ...KEYS.RSA, alg: 'RS256' }, algorithms: ['RS256'] },
  { jwk: { ...KEYS.RSA, alg: 'PS256' }, algorithms: ['PS256'] }
])('A key of type $jwk.kty with the alg $jwk.alg verifies $algorithms', ({ jwk, algorithms }) => {
  expect(readPublicKey(jwk)).toMatchObject({ kind: 'key', key: { algorithms } })
})

test('Only the members that define the key are kept', () => {
  const read = readPublicKey({ ...KEYS.EC, x5u: 'https://elsewhere.example', alg: 'ES256' })
  expect(read.kind === 'key' && Object.keys(read.key.jwk)).toEqual(['crv', 'kty', 'x', 'y'])
})

const rsa = (bytes: number, first = 0x80): JWK => {
  const n = Buffer.alloc(bytes, 0xff)
  n[0] = first
  return { ...KEYS.RSA, n: n.toString('base64url') }
}

test.each([
  { name: '2,048 bits', jwk: rsa(256), kind: 'key' },
  { name: '4,096 bits', jwk: rsa(512), kind: 'key' },
  { name: '2,047 bits', jwk: rsa(256, 0x7f), kind: 'refused' },
  { name: '4,097 bits', jwk: rsa(513, 0x01), kind: 'refused' },
  { name: 'a zero at the start', jwk: rsa(257, 0x00), kind: 'refused' },
  { name: 'the exponent 3', jwk: { ...KEYS.RSA, e: 'Aw' }, kind: 'refused' },
  { name: 'a longer form of the exponent', jwk: { ...KEYS.RSA, e: 'AAEAAQ' }, kind: 'refused' }
])('An RSA key with $name is: $kind', ({ jwk, kind }) => {
  expect(readPublicKey(jwk).kind).toBe(kind)
})

test.each([
  { name: 'null', value: null },
  { name: 'an array', value: [KEYS.EC] },
  { name: 'a text', value: 'key' },
  { name: 'no kty', value: { ...KEYS.EC, kty: undefined } },
  { name: 'the kty of a member of every object', value: { ...KEYS.EC, kty: 'constructor' } },
  { name: 'a symmetric kty', value: { kty: 'oct' } },
  { name: 'another curve', value: { ...KEYS.EC, crv: 'P-384' } },
  { name: 'the curve of a key agreement', value: { ...KEYS.OKP, crv: 'X25519' } },
  { name: 'a short x', value: { ...KEYS.EC, x: 'AAAA' } },
  { name: 'no y', value: { ...KEYS.EC, y: undefined } },
  { name: 'an x with padding', value: { ...KEYS.OKP, x: `${KEYS.OKP.x}=` } },
  { name: 'the use enc', value: { ...KEYS.EC, use: 'enc' } },
  { name: 'key_ops without verify', value: { ...KEYS.EC, key_ops: ['sign'] } },
  { name: 'key_ops that is a text', value: { ...KEYS.EC, key_ops: 'verify' } },
  { name: 'the alg of another type', value: { ...KEYS.EC, alg: 'RS256' } },
  { name: 'an empty kid', value: { ...KEYS.EC, kid: '' } },
  { name: 'a kid that is a number', value: { ...KEYS.EC, kid: 7 } },
  { name: 'a kid with a line break', value: { ...KEYS.EC, kid: 'a\nb' } },
  { name: 'a kid with NUL', value: { ...KEYS.EC, kid: 'a\u0000' } },
  { name: 'a kid with an unpaired surrogate', value: { ...KEYS.EC, kid: 'a\ud800' } },
  { name: 'a kid of 257 characters', value: { ...KEYS.EC, kid: 'k'.repeat(257) } },
  ...PRIVATE_KEY_MEMBERS.map((name) => ({ name: `the private member ${name}`, value: { ...KEYS.EC, [name]: 'AA' } }))
])('A key with $name is refused', ({ value }) => {
  expect(readPublicKey(value)).toMatchObject({ kind: 'refused', objection: expect.stringMatching(/^must /) })
})
