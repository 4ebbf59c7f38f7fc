import { expect, test } from '@jest/globals'
import { createSharedCalls } from '../../src/introspection/shared-calls.js'

/** Calls that end when the test says so, numbered in the order they began. */
function calls() {
  const begun: { end(): void; fail(): void }[] = []
  const make = () =>
    new Promise<number>((resolve, reject) => {
      const number = begun.length
      begun.push({ end: () => resolve(number), fail: () => reject(new Error(`call ${number}`)) })
    })
  return { begun, make }
}

test('who comes during a call gets the one after it, and all of them the same', async () => {
  const shared = createSharedCalls<number>()
  const { begun, make } = calls()
  const first = shared.fresh('k', make, 'request')
  const late = Array.from({ length: 50 }, () => shared.fresh('k', make, 'request'))
  expect(begun).toHaveLength(1)
  begun[0]?.end()
  expect(await first).toBe(0)
  await Promise.resolve()
  expect(begun).toHaveLength(2)
  const later = shared.fresh('k', make, 'request')
  begun[1]?.end()
  expect(await Promise.all(late)).toEqual(Array(50).fill(1))
  await Promise.resolve()
  begun[2]?.end()
  expect(await later).toBe(2)
})

test('whoever may take an older answer joins the call that is under way', async () => {
  const shared = createSharedCalls<number>()
  const { begun, make } = calls()
  expect(shared.current('k')).toBeUndefined()
  const first = shared.fresh('k', make, 'request')
  const joined = shared.current('k')
  begun[0]?.end()
  expect([await first, await joined]).toEqual([0, 0])
  expect(shared.current('k')).toBeUndefined()
})

test('a call knows the requests that it is made for, of many the first', async () => {
  const shared = createSharedCalls<readonly string[]>()
  const make = async (requestIds: readonly string[]) => requestIds
  const first = shared.fresh('k', make, 'a')
  const late = Array.from({ length: 100 }, (_, number) => shared.fresh('k', make, `late-${number}`))
  expect(await first).toEqual(['a'])
  const named = Array.from({ length: 64 }, (_, number) => `late-${number}`)
  for (const answer of await Promise.all(late)) expect(answer).toEqual(named)
})

test('keys do not wait for each other', () => {
  const shared = createSharedCalls<number>()
  const { begun, make } = calls()
  void shared.fresh('a', make, 'request')
  void shared.fresh('b', make, 'request')
  expect(begun).toHaveLength(2)
})

test('a failure is for all who wait, asks nothing more, and is not kept', async () => {
  const shared = createSharedCalls<number>()
  const { begun, make } = calls()
  const first = shared.fresh('k', make, 'request')
  const late = shared.fresh('k', make, 'request')
  begun[0]?.fail()
  expect((await Promise.allSettled([first, late])).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(begun).toHaveLength(1)
  const again = shared.fresh('k', make, 'request')
  begun[1]?.end()
  expect(await again).toBe(1)
})
