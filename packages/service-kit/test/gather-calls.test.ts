import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { gatherCalls } from '../src/gather-calls.js'

/** An answer and what it sets off take a turn each. */
async function nextTurn(): Promise<void> {
  await turn()
  await turn()
}

/** Answers only when it is told to, and remembers what it was asked. */
function slowStore() {
  const batches: { asked: readonly number[]; answer(): void; fail(error: Error): void }[] = []
  const ask = (asked: readonly number[]) =>
    new Promise<number[]>((resolve, reject) => {
      batches.push({ asked, answer: () => resolve(asked.map((number) => number * 10)), fail: reject })
    })
  return { batches, call: gatherCalls(ask), sizes: () => batches.map(({ asked }) => asked.length) }
}

test('a call that comes alone does not wait for others', async () => {
  const { batches, call } = slowStore()
  const answer = call(1)
  await nextTurn()
  batches[0]?.answer()
  expect(await answer).toBe(10)
})

test('calls of one turn share a statement, in their order', async () => {
  const { batches, call, sizes } = slowStore()
  const answers = [call(1), call(2), call(3)]
  await nextTurn()
  batches[0]?.answer()
  expect([await Promise.all(answers), sizes()]).toEqual([[10, 20, 30], [3]])
})

test('two statements at most are under way; what comes meanwhile goes when one is answered', async () => {
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

test('a batch has an end, and nobody is left behind', async () => {
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

test('a statement that fails, fails for its own calls and no others', async () => {
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

test('statements that hang hold up nobody who comes after them', async () => {
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
  // What was slow makes room once, and not again when it is answered.
  for (const batch of batches.slice(0, 2)) batch.answer()
  expect(await Promise.all(hanging)).toEqual([10, 20])
  for (let number = 4; number <= 6; number++) {
    void call(number)
    await nextTurn()
  }
  expect(sizes()).toEqual([1, 1, 1, 1, 1])
})

test('whoever watches hears how many share each statement', async () => {
  const sizes: number[] = []
  const call = gatherCalls(
    async (asked: readonly number[]) => asked,
    2,
    (size) => sizes.push(size)
  )
  await Promise.all([call(1), call(2), call(3)])
  expect(sizes).toEqual([2, 1])
})
