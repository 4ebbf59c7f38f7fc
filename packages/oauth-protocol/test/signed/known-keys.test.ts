import { expect, test } from '@jest/globals'
import { rememberKeys } from '../../src/signed/known-keys.js'
import { readPublicKey } from '../../src/signed/public-key.js'
import { createKey } from './proof-fixture.js'

async function twoReadings() {
  const { jwk } = await createKey()
  const [one, other] = [readPublicKey(jwk), readPublicKey(jwk)]
  if (one.kind !== 'key' || other.kind !== 'key') throw new Error('the key is refused')
  return { first: one.key, second: other.key }
}

test('An equal key is the remembered object', async () => {
  const { first, second } = await twoReadings()
  const keys = rememberKeys()
  expect(keys.known(first)).toBe(first)
  expect(keys.known(second)).toBe(second)
  keys.remember(first)
  expect(keys.known(second)).toBe(first)
  keys.remember(second)
  expect(keys.known(second)).toBe(first)
})

test('Of more keys than the limit, the one that was not used for the longest time is forgotten', async () => {
  const [a, b, c] = [await twoReadings(), await twoReadings(), await twoReadings()]
  const keys = rememberKeys(2)
  keys.remember(a.first)
  keys.remember(b.first)
  keys.remember(a.second)
  keys.remember(c.first)
  expect(keys.known(a.second)).toBe(a.first)
  expect(keys.known(b.second)).toBe(b.second)
  expect(keys.known(c.second)).toBe(c.first)
})
