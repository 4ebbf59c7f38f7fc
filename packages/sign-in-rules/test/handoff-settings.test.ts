import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { readHandoffKeys } from '../src/index.js'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
const jwk = (key: typeof ec.publicKey) => key.export({ format: 'jwk' })
const read = (...keys: unknown[]) => readHandoffKeys(JSON.stringify({ keys }))

test('several public keys for ES256 and EdDSA are accepted, for a rotation', () => {
  const keys = [jwk(ec.publicKey), jwk(ed.publicKey)]
  expect(read(...keys)).toEqual({ keys })
})

test.each(['', 'null', '[]', '{}', '{"keys":[]}', '{"keys":[1]}', '{"keys":{}}'])('%j is no JWK set', (text) => {
  expect(readHandoffKeys(text)).toEqual({ problem: 'is not a JWK set with at least one key' })
})

test.each([
  ['EC', ec.privateKey],
  ['OKP', ed.privateKey]
])('a private key of type %s is refused', (_type, key) => {
  expect(read(jwk(key))).toEqual({ problem: 'has a private key; only public keys belong here' })
})

test.each([
  ['RSA', jwk(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey)],
  ['P-384', jwk(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)],
  ['X25519', jwk(generateKeyPairSync('x25519').publicKey)],
  // jose does not support it.
  ['Ed448', jwk(generateKeyPairSync('ed448').publicKey)],
  ['EC with a point that is not on the curve', { ...jwk(ec.publicKey), x: 'AAAA' }]
])('a key of type %s beside a good one is refused', (_type, key) => {
  expect(read(jwk(ec.publicKey), key)).toEqual({
    problem: 'has a key that is neither EC P-256 (ES256) nor OKP Ed25519 (EdDSA), or that cannot be read'
  })
})

test('a symmetric key is refused', () => {
  expect(read({ kty: 'oct', k: 'c2VjcmV0' })).toEqual({ problem: 'has a private key; only public keys belong here' })
})
