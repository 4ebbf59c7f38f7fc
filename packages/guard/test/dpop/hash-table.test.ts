import { hash } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { createHashTable } from '../../src/dpop/hash-table.js'

/** The hash of a number, as its words. */
function hashOf(number: number): Uint32Array {
  const bytes = hash('sha256', String(number), 'buffer')
  return Uint32Array.from({ length: 4 }, (_, word) => bytes.readUInt32LE(word * 4))
}

test('The table has exactly the 10,000 values that were added, in less than 44 bytes for each', () => {
  const table = createHashTable()
  const values = Array.from({ length: 20_000 }, (_, number) => hashOf(number))
  const added = values.slice(0, 10_000)
  const known = added.filter((value) => table.has(value) || table.add(value))
  expect(known).toEqual([])
  expect(values.filter((value) => table.has(value))).toEqual(added)
  expect(table.size()).toBe(10_000)
  expect(table.bytes() / table.size()).toBeLessThan(44)
})

test('The table tells values apart that belong to the same place', () => {
  const table = createHashTable()
  const values = Array.from({ length: 500 }, (_, number) => Uint32Array.of(7, 0, 0, number))
  for (const value of values) table.add(value)
  expect(values.every((value) => table.has(value))).toBe(true)
  expect(table.has(Uint32Array.of(7, 0, 1, 0))).toBe(false)
  expect(table.has(Uint32Array.of(8, 0, 0, 0))).toBe(false)
})
