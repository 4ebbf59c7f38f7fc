import { expect, test } from '@jest/globals'
import { type CallOrigin, createSharedCalls } from '../../src/introspection/shared-calls.js'

/** Calls that the test ends, numbered in the order they began. */
function calls() {
  const begun: { end(): void; fail(): void }[] = []
  const make = () =>
    new Promise<number>((resolve, reject) => {
      const number = begun.length
      begun.push({ end: () => resolve(number), fail: () => reject(new Error(`call ${number}`)) })
    })
  return { begun, make }
}

test('requests during a call share the next call', async () => {
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

test('current returns the call in progress', async () => {
  const shared = createSharedCalls<number>()
  const { begun, make } = calls()
  expect(shared.current('k')).toBeUndefined()
  const first = shared.fresh('k', make, 'request')
  const joined = shared.current('k')
  begun[0]?.end()
  expect([await first, await joined]).toEqual([0, 0])
  expect(shared.current('k')).toBeUndefined()
})

test('a call gets the ids of its requests, at most 64', async () => {
  const shared = createSharedCalls<readonly string[]>()
  const make = async ({ requestIds }: CallOrigin) => requestIds
  const first = shared.fresh('k', make, 'a')
  const late = Array.from({ length: 100 }, (_, number) => shared.fresh('k', make, `late-${number}`))
  expect(await first).toEqual(['a'])
  const named = Array.from({ length: 64 }, (_, number) => `late-${number}`)
  for (const answer of await Promise.all(late)) expect(answer).toEqual(named)
})

test('a call gets the trace of its first request that has one', async () => {
  const shared = createSharedCalls<string | undefined>()
  const make = async ({ trace }: CallOrigin) => trace?.traceId
  const traceOf = (traceId: string) => ({ traceId, spanId: '00f067aa0ba902b7', flags: 1, state: undefined })
  const first = shared.fresh('k', make, 'a', traceOf('first'))
  const late = [undefined, traceOf('second'), traceOf('third')].map((trace) => shared.fresh('k', make, 'late', trace))
  expect([await first, ...(await Promise.all(late))]).toEqual(['first', 'second', 'second', 'second'])
  expect(await shared.fresh('k', make, 'later')).toBeUndefined()
})

test('shared calls for different keys run concurrently', () => {
  const shared = createSharedCalls<number>()
  const { begun, make } = calls()
  void shared.fresh('a', make, 'request')
  void shared.fresh('b', make, 'request')
  expect(begun).toHaveLength(2)
})

test('a failure rejects all waiting requests, starts no further call, and is not kept', async () => {
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
