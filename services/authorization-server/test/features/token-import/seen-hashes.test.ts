import { createHash } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { createSeenHashes } from '../../../src/features/token-import/seen-hashes.js'

const hashOf = (number: number) => createHash('sha256').update(String(number)).digest()

test('each of 20,000 hashes is found again with its line, and no other', () => {
  const seen = createSeenHashes()
  const numbers = Array.from({ length: 20_000 }, (_, index) => index + 1)
  expect(numbers.map((number) => seen.add(hashOf(number), number)).filter((line) => line !== undefined)).toEqual([])
  expect(numbers.map((number) => seen.add(hashOf(number), 99_999))).toEqual(numbers)
})

test('a hash that begins with zeros is one like others', () => {
  const seen = createSeenHashes()
  expect([seen.add(Buffer.alloc(32), 3), seen.add(Buffer.alloc(32), 4)]).toEqual([undefined, 3])
})
