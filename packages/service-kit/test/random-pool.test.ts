import { expect, test } from '@jest/globals'
import { createRandomPool } from '../src/random-pool.js'

/** Fills with 1, 2, 3 … and remembers what it filled. */
function countingPool() {
  let last = 0
  let pool: Buffer = Buffer.alloc(0)
  const randomBytes = createRandomPool((bytes) => {
    pool = bytes
    for (let index = 0; index < bytes.length; index++) bytes[index] = (++last % 255) + 1
  })
  const numbers = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ((from + index) % 255) + 1)
  return { randomBytes, numbers, poolHolds: () => [...pool] }
}

test('each byte is handed out once, in pieces of any size, across fillings', () => {
  const { randomBytes, numbers } = countingPool()
  const sizes = [32, 1, 0, 4_000, 32, 32, 32, 9_000, 7]
  const pieces = sizes.map((size) => [...randomBytes(size)])
  expect(pieces.map((piece) => piece.length)).toEqual(sizes)
  expect(pieces.flat()).toEqual(
    numbers(
      1,
      sizes.reduce((sum, size) => sum + size)
    )
  )
})

test('what was handed out is erased from the pool, and what was not is still there', () => {
  const { randomBytes, numbers, poolHolds } = countingPool()
  randomBytes(32)
  randomBytes(3)
  expect(poolHolds()).toEqual([...new Array(35).fill(0), ...numbers(36, 4096 - 35)])
})

test('a piece is nobody else’s: neither the next one nor the next filling changes it', () => {
  const { randomBytes } = countingPool()
  const first = randomBytes(32)
  const before = [...first]
  randomBytes(10_000)
  expect([...first]).toEqual(before)
  expect(first.buffer.byteLength).toBe(32)
})

test('without a source of its own it is that of node:crypto: no two of ten thousand are alike', () => {
  const randomBytes = createRandomPool()
  const seen = new Set(Array.from({ length: 10_000 }, () => Buffer.from(randomBytes(32)).toString('hex')))
  expect(seen.size).toBe(10_000)
})
