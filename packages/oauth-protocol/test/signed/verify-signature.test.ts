import { expect, test } from '@jest/globals'
import { readCompactJws } from '../../src/signed/compact-jws.js'
import { readPublicKey, SIGNATURE_ALGORITHMS } from '../../src/signed/public-key.js'
import { isSignedBy, isUsableKey } from '../../src/signed/verify-signature.js'
import { createKey, sign, type TestKey } from './proof-fixture.js'

function publicKeyOf({ jwk }: Pick<TestKey, 'jwk'>) {
  const read = readPublicKey(jwk)
  if (read.kind !== 'key') throw new Error(read.objection)
  return read.key
}

async function signed(key: TestKey) {
  const jws = readCompactJws(await sign(key, { jti: 'one' }))
  if (jws === undefined) throw new Error('no JWS')
  return jws
}

test.each(SIGNATURE_ALGORITHMS)('A signature with %s is valid for its key and for no other', async (algorithm) => {
  const [key, other] = [await createKey(algorithm), await createKey(algorithm)]
  const jws = await signed(key)
  expect(await isSignedBy(jws, publicKeyOf(key), SIGNATURE_ALGORITHMS)).toBe(true)
  expect(await isSignedBy(jws, publicKeyOf(other), SIGNATURE_ALGORITHMS)).toBe(false)
})

test('A signature is valid twice, because the imported key is kept', async () => {
  const key = await createKey()
  const publicKey = publicKeyOf(key)
  expect(await isSignedBy(await signed(key), publicKey, ['ES256'])).toBe(true)
  expect(await isSignedBy(await signed(key), publicKey, ['ES256'])).toBe(true)
})

test('A valid signature with an algorithm that the caller does not allow is refused', async () => {
  const key = await createKey('RS256')
  expect(await isSignedBy(await signed(key), publicKeyOf(key), ['ES256', 'PS256'])).toBe(false)
})

test('A key that names its algorithm verifies no other one', async () => {
  const key = await createKey('RS256')
  const named = publicKeyOf({ jwk: { ...key.jwk, alg: 'PS256' } })
  expect(await isSignedBy(await signed(key), named, SIGNATURE_ALGORITHMS)).toBe(false)
})

test('A header without a signature algorithm is refused', async () => {
  const key = await createKey()
  const { text, payload } = await signed(key)
  const none = { text, payload, header: { alg: 'none' } }
  expect(await isSignedBy(none, publicKeyOf(key), SIGNATURE_ALGORITHMS)).toBe(false)
})

test('A point that is not on its curve is no usable key', async () => {
  const key = await createKey()
  expect(await isUsableKey(publicKeyOf(key))).toBe(true)
  const elsewhere = { ...key.jwk, y: Buffer.alloc(32, 1).toString('base64url') }
  const publicKey = publicKeyOf({ jwk: elsewhere })
  expect(await isUsableKey(publicKey)).toBe(false)
  expect(await isSignedBy(await signed(key), publicKey, SIGNATURE_ALGORITHMS)).toBe(false)
})
