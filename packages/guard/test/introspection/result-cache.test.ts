import { expect, test } from '@jest/globals'
import { createResultCache } from '../../src/introspection/result-cache.js'

const OVERHEAD = 400

test('a full cache removes the least recently used entry', () => {
  const cache = createResultCache<number>({ entries: 2, bytes: 1e6 })
  cache.set('a', 1, 0)
  cache.set('b', 2, 0)
  cache.get('a')
  cache.set('c', 3, 0)
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 3])
})

test('limits the bytes, and subtracts those of removed and replaced entries', () => {
  const cache = createResultCache<number>({ entries: 100, bytes: 2 * (OVERHEAD + 100) })
  cache.set('a', 1, 100)
  cache.set('b', 2, 100)
  cache.set('c', 3, 100)
  expect(cache.size()).toEqual({ entries: 2, bytes: 1_000 })
  cache.set('c', 4, 50)
  expect(cache.size()).toEqual({ entries: 2, bytes: 950 })
  cache.delete('c')
  cache.delete('c')
  expect(cache.size()).toEqual({ entries: 1, bytes: 500 })
})

test('an entry larger than the cache displaces no other entry, and its earlier value is removed', () => {
  const cache = createResultCache<number>({ entries: 100, bytes: 1_000 })
  cache.set('a', 1, 10)
  cache.set('b', 1, 10)
  cache.set('b', 2, 5_000)
  expect([cache.get('a'), cache.get('b')]).toEqual([1, undefined])
})
