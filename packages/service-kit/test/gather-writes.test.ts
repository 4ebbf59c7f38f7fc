import { expect, test } from '@jest/globals'
import { gatherWrites } from '../src/gather-writes.js'
import { StoreUnavailable } from '../src/store-unavailable.js'

/** Refuses every statement that holds one of these numbers, as Postgres does: as a whole. */
function storeThat(refuse: (rows: readonly number[]) => Error | undefined) {
  const statements: (readonly number[])[] = []
  const write = gatherWrites(async (rows: readonly number[]) => {
    statements.push(rows)
    const error = refuse(rows)
    if (error !== undefined) throw error
    return rows.map((number) => number * 10)
  })
  return { statements, write }
}

test('rows that come together share a statement, and each has its own answer', async () => {
  const { statements, write } = storeThat(() => undefined)
  expect(await Promise.all([write(1), write(2), write(3)])).toEqual([10, 20, 30])
  expect(statements).toEqual([[1, 2, 3]])
})

test('one bad row fails alone: its neighbours are written one by one', async () => {
  const { statements, write } = storeThat((rows) => (rows.includes(2) ? new Error('bad value') : undefined))
  const settled = await Promise.allSettled([write(1), write(2), write(3)])
  expect(settled).toEqual([
    { status: 'fulfilled', value: 10 },
    { status: 'rejected', reason: new Error('bad value') },
    { status: 'fulfilled', value: 30 }
  ])
  expect(statements).toEqual([[1, 2, 3], [1], [2], [3]])
})

test('a bad row that comes alone is not sent again', async () => {
  const { statements, write } = storeThat(() => new Error('bad value'))
  await expect(write(1)).rejects.toThrow('bad value')
  expect(statements).toEqual([[1]])
})

test('when Postgres is away everyone is told, and nothing is sent again: it may have been written', async () => {
  const { statements, write } = storeThat(() => new StoreUnavailable('postgres', new Error('cut')))
  const settled = await Promise.allSettled([write(1), write(2)])
  expect(settled.map((each) => each.status === 'rejected' && each.reason instanceof StoreUnavailable)).toEqual([
    true,
    true
  ])
  expect(statements).toEqual([[1, 2]])
})
