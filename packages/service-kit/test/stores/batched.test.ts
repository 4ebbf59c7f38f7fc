import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { batched, batchedByKey } from '../../src/stores/batched.js'
import { StoreUnavailable } from '../../src/stores/store-unavailable.js'

/** A response, and the batch that it starts, take one turn each. */
async function nextTurn(): Promise<void> {
  await turn()
  await turn()
}

/** Records each batch; the test sends the responses. */
function slowStore() {
  const batches: { asked: readonly number[]; answer(): void; fail(error: Error): void }[] = []
  const ask = (asked: readonly number[]) =>
    new Promise<number[]>((resolve, reject) => {
      batches.push({ asked, answer: () => resolve(asked.map((number) => number * 10)), fail: reject })
    })
  return { batches, call: batched(ask), sizes: () => batches.map(({ asked }) => asked.length) }
}

test('a single call does not wait for others', async () => {
  const { batches, call } = slowStore()
  const answer = call(1)
  await nextTurn()
  batches[0]?.answer()
  expect(await answer).toBe(10)
})

test('concurrent calls of one turn share a batch, in their order', async () => {
  const { batches, call, sizes } = slowStore()
  const answers = [call(1), call(2), call(3)]
  await nextTurn()
  batches[0]?.answer()
  expect([await Promise.all(answers), sizes()]).toEqual([[10, 20, 30], [3]])
})

test('at most two batches are in flight; later calls are sent together after a response', async () => {
  const { batches, call, sizes } = slowStore()
  const answers: Promise<number>[] = []
  for (let number = 1; number <= 5; number++) {
    answers.push(call(number))
    await nextTurn()
  }
  expect(sizes()).toEqual([1, 1])
  batches[0]?.answer()
  await answers[0]
  await nextTurn()
  expect(sizes()).toEqual([1, 1, 3])
  batches[1]?.answer()
  batches[2]?.answer()
  expect(await Promise.all(answers)).toEqual([10, 20, 30, 40, 50])
})

test('300 calls are sent in batches of at most 128', async () => {
  const { batches, call, sizes } = slowStore()
  const answers = Array.from({ length: 300 }, (_, number) => call(number))
  await nextTurn()
  for (const batch of batches) batch.answer()
  await answers[0]
  await nextTurn()
  batches[2]?.answer()
  expect(await Promise.all(answers)).toEqual(answers.map((_, number) => number * 10))
  expect(sizes()).toEqual([128, 128, 44])
})

test('a failing batch rejects only its own calls', async () => {
  const { batches, call } = slowStore()
  const lost = Promise.allSettled([call(1), call(2)])
  await nextTurn()
  const kept = call(3)
  await nextTurn()
  batches[0]?.fail(new Error('away'))
  batches[1]?.answer()
  expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await kept).toBe(30)
})

test('slow batches do not delay later calls', async () => {
  const { batches, call, sizes } = slowStore()
  const hanging = [call(1)]
  await nextTurn()
  hanging.push(call(2))
  await nextTurn()
  const behind = call(3)
  await wait(150)
  expect(sizes()).toEqual([1, 1, 1])
  batches[2]?.answer()
  expect(await behind).toBe(30)
  // A slow batch frees its place once, and not again with its response.
  for (const batch of batches.slice(0, 2)) batch.answer()
  expect(await Promise.all(hanging)).toEqual([10, 20])
  for (let number = 4; number <= 6; number++) {
    void call(number)
    await nextTurn()
  }
  expect(sizes()).toEqual([1, 1, 1, 1, 1])
})

test('onBatch receives the number of calls in each batch', async () => {
  const sizes: number[] = []
  const call = batched(async (asked: readonly number[]) => asked, { largest: 2, onBatch: (size) => sizes.push(size) })
  await Promise.all([call(1), call(2), call(3)])
  expect(sizes).toEqual([2, 1])
})

test('a result that is an Error rejects its own call only', async () => {
  const call = batched(async (values: readonly number[]) =>
    values.map((value) => (value === 2 ? new Error('two') : value))
  )
  expect(await Promise.allSettled([call(1), call(2), call(3)])).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new Error('two') },
    { status: 'fulfilled', value: 3 }
  ])
})

/** Refuses whole statements, like Postgres. */
function storeThat(refuse: (rows: readonly number[]) => Error | undefined) {
  const statements: (readonly number[])[] = []
  const write = batched(
    async (rows: readonly number[]) => {
      statements.push(rows)
      const error = refuse(rows)
      if (error !== undefined) throw error
      return rows.map((number) => number * 10)
    },
    { eachAloneWhenRefused: true }
  )
  return { statements, write }
}

test('eachAloneWhenRefused: concurrent calls share a statement, and each has its own result', async () => {
  const { statements, write } = storeThat(() => undefined)
  expect(await Promise.all([write(1), write(2), write(3)])).toEqual([10, 20, 30])
  expect(statements).toEqual([[1, 2, 3]])
})

test('eachAloneWhenRefused: a refused row fails alone; the others are sent one by one', async () => {
  const { statements, write } = storeThat((rows) => (rows.includes(2) ? new Error('bad value') : undefined))
  const settled = await Promise.allSettled([write(1), write(2), write(3)])
  expect(settled).toEqual([
    { status: 'fulfilled', value: 10 },
    { status: 'rejected', reason: new Error('bad value') },
    { status: 'fulfilled', value: 30 }
  ])
  expect(statements).toEqual([[1, 2, 3], [1], [2], [3]])
})

test('eachAloneWhenRefused: a refused single call is not sent again', async () => {
  const { statements, write } = storeThat(() => new Error('bad value'))
  await expect(write(1)).rejects.toThrow('bad value')
  expect(statements).toEqual([[1]])
})

test('eachAloneWhenRefused: after StoreUnavailable every call is rejected and nothing is sent again', async () => {
  const { statements, write } = storeThat(() => new StoreUnavailable('postgres', new Error('cut')))
  const settled = await Promise.allSettled([write(1), write(2)])
  expect(settled.map((each) => each.status === 'rejected' && each.reason instanceof StoreUnavailable)).toEqual([
    true,
    true
  ])
  expect(statements).toEqual([[1, 2]])
})

/** Sends numbers in statements by their tens, and fails for one of the tens. */
function storeByTens(failure: { tens: number; error: Error }) {
  const statements: (readonly number[])[] = []
  const write = batchedByKey(
    (value: number) => Math.floor(value / 10),
    async (values, tens) => {
      statements.push(values)
      if (tens === failure.tens) throw failure.error
      return values.map((value) => `${tens}: ${value}`)
    },
    { eachAloneWhenRefused: true }
  )
  return { statements, settle: (values: readonly number[]) => Promise.allSettled(values.map(write)) }
}

test('batchedByKey: one statement for each key; if one fails, calls with other keys succeed', async () => {
  const error = new StoreUnavailable('postgres', new Error('cut'))
  const { statements, settle } = storeByTens({ tens: 2, error })
  expect(await settle([11, 21, 12, 22])).toEqual([
    { status: 'fulfilled', value: '1: 11' },
    { status: 'rejected', reason: error },
    { status: 'fulfilled', value: '1: 12' },
    { status: 'rejected', reason: error }
  ])
  expect(statements).toEqual([
    [11, 12],
    [21, 22]
  ])
})

test('batchedByKey: after a refusal, only the calls with the same key are sent again alone', async () => {
  const { statements, settle } = storeByTens({ tens: 2, error: new Error('bad value') })
  const settled = await settle([11, 21, 12, 22])
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  expect(statements).toEqual([[11, 12], [21, 22], [21], [22]])
})
