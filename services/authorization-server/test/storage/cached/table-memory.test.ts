import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  emptyMemory,
  finishLoad,
  type Load,
  lookUp,
  lookUpAll,
  nextLoad,
  noteChange,
  readChange,
  type TableMemory
} from '../../../src/storage/cached/table-memory.js'

let memory: TableMemory<number>
const rows = (read: Record<string, number>) => new Map(Object.entries(read))
const begin = (): Load => nextLoad(memory) ?? { keys: [], begunAt: -1 }
const load = (read: Record<string, number>) => finishLoad(memory, begin(), rows(read))
const known = (row: number | undefined) => ({ isKnown: true, row })
const UNKNOWN = { isKnown: false }

beforeEach(() => {
  memory = emptyMemory()
})

describe('before the first load', () => {
  test('no row is cached, and neither is its absence', () => {
    expect([lookUp(memory, 'a'), lookUpAll(memory)]).toEqual([UNKNOWN, undefined])
    expect(nextLoad(memory)).toEqual({ keys: 'all', begunAt: 0 })
  })

  test('a row that changes during the load is not stored, the others are', () => {
    const first = begin()
    noteChange(memory, 'a')
    finishLoad(memory, first, rows({ a: 1, b: 1 }))
    expect([lookUp(memory, 'a'), lookUp(memory, 'b'), lookUpAll(memory)]).toEqual([UNKNOWN, known(1), undefined])
    expect(nextLoad(memory)).toEqual({ keys: ['a'], begunAt: 1 })
  })

  test('a row that changed before the load began is stored', () => {
    noteChange(memory, 'a')
    load({ a: 2 })
    expect([lookUp(memory, 'a'), nextLoad(memory)]).toEqual([known(2), undefined])
  })
})

describe('after the first load', () => {
  beforeEach(() => load({ a: 1, b: 1 }))

  test('every row is cached, and so is the absence of others', () => {
    expect([lookUp(memory, 'a'), lookUp(memory, 'z')]).toEqual([known(1), known(undefined)])
    expect([...(lookUpAll(memory) ?? [])]).toEqual([
      ['a', 1],
      ['b', 1]
    ])
  })

  test.each(['a', 'z'])('a change removes only "%s", whether it existed or not', (key) => {
    noteChange(memory, key)
    expect([lookUp(memory, key), lookUp(memory, 'b'), lookUpAll(memory)]).toEqual([UNKNOWN, known(1), undefined])
    expect(nextLoad(memory)).toEqual({ keys: [key], begunAt: 1 })
  })

  test.each([
    { name: 'changed', read: { a: 2 }, row: 2 },
    { name: 'deleted', read: {}, row: undefined }
  ])('a load of a row that was $name caches it again', ({ read, row }) => {
    noteChange(memory, 'a')
    load(read)
    expect([lookUp(memory, 'a'), lookUp(memory, 'b'), nextLoad(memory)]).toEqual([known(row), known(1), undefined])
  })

  test('a load does not store a row that changed again after it began, but stores the others', () => {
    noteChange(memory, 'a')
    noteChange(memory, 'b')
    const overtaken = begin()
    noteChange(memory, 'a')
    finishLoad(memory, overtaken, rows({ a: 2, b: 2 }))
    expect([lookUp(memory, 'a'), lookUp(memory, 'b')]).toEqual([UNKNOWN, known(2)])
    load({ a: 3 })
    expect(lookUp(memory, 'a')).toEqual(known(3))
  })

  test('a change of the whole table removes all rows, and loads from before it store nothing', () => {
    noteChange(memory, 'a')
    const some = begin()
    noteChange(memory)
    const all = begin()
    noteChange(memory)
    finishLoad(memory, some, rows({ a: 2 }))
    finishLoad(memory, all, rows({ a: 2, b: 2 }))
    expect([lookUp(memory, 'a'), lookUp(memory, 'b'), nextLoad(memory)]).toEqual([
      UNKNOWN,
      UNKNOWN,
      { keys: 'all', begunAt: 3 }
    ])
  })

  test('ten thousand changes are read in batches of a thousand', () => {
    for (let number = 0; number < 10_000; number++) noteChange(memory, `row ${number}`)
    let loads = 0
    for (let next = nextLoad(memory); next !== undefined; next = nextLoad(memory)) {
      expect(next.keys).toHaveLength(1_000)
      finishLoad(memory, next, new Map())
      loads += 1
    }
    expect(loads).toBe(10)
  })
})

test.each([
  { payload: '{"table":"clients","key":"a"}', change: { table: 'clients', key: 'a' } },
  { payload: '{"table":"scopes"}', change: { table: 'scopes', key: undefined } },
  { payload: '{"table":"clients","key":1}', change: undefined },
  { payload: '{"key":"a"}', change: undefined },
  { payload: 'null', change: undefined },
  { payload: '', change: undefined }
])('readChange: $payload', ({ payload, change }) => {
  expect(readChange(payload)).toEqual(change)
})
