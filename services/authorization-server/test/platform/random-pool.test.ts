import { expect, test } from '@jest/globals'
import { createRandomPool } from '../../src/platform/random-pool.js'

test('random pool: no byte is returned twice, also over the end of a pool', () => {
  const randomBytes = createRandomPool()
  const all = Array.from({ length: 1_000 }, () => randomBytes(48))
  expect(new Set(all.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(1_000)
  // Bytes of one pool share a buffer, so an overlap would be two equal places in it.
  const places = all.flatMap((bytes) =>
    [...bytes.keys()].map((index) => [bytes.buffer, bytes.byteOffset + index] as const)
  )
  const pools = new Map<ArrayBufferLike, Set<number>>()
  for (const [buffer, place] of places) {
    const used = pools.get(buffer) ?? new Set()
    expect(used.has(place)).toBe(false)
    pools.set(buffer, used.add(place))
  }
  expect(pools.size).toBeGreaterThan(1)
})

test('random pool: bytes that were returned do not change', () => {
  const randomBytes = createRandomPool()
  const first = randomBytes(32)
  const copy = Buffer.from(first)
  for (let count = 0; count < 500; count++) randomBytes(48)
  expect(Buffer.from(first).equals(copy)).toBe(true)
})

test('random pool: more than a pool is refused', () => {
  expect(() => createRandomPool()(4_097)).toThrow(RangeError)
})
