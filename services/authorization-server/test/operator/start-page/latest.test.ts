import { expect, test } from '@jest/globals'
import { latestOf } from '../../../src/operator/start-page/latest.js'

function counted(read: (call: number) => Promise<string>, waitAtMostMs = 60_000) {
  let calls = 0
  let time = 1_000_000
  const next = latestOf(() => read(++calls), { freshForMs: 1_000, waitAtMostMs, now: () => new Date(time) })
  return {
    next: async () => (await next())?.value,
    calls: () => calls,
    passes(milliseconds: number) {
      time += milliseconds
    }
  }
}

test('the latest value is read once for 50 concurrent callers', async () => {
  const { next, calls } = counted(async (call) => `read ${call}`)
  expect(new Set(await Promise.all(Array.from({ length: 50 }, next)))).toEqual(new Set(['read 1']))
  expect(calls()).toBe(1)
})

test('the latest value is read again only when it is no longer fresh, also if the clock was set back', async () => {
  const { next, passes } = counted(async (call) => `read ${call}`)
  await next()
  passes(999)
  expect(await next()).toBe('read 1')
  passes(1)
  expect(await next()).toBe('read 2')
  passes(-10_000)
  expect(await next()).toBe('read 3')
})

test('the latest value is the old one if a new read takes too long, and no second read starts', async () => {
  const { next, calls, passes } = counted(
    async (call) => (call === 1 ? 'first' : new Promise<string>(() => undefined)),
    5
  )
  await next()
  passes(1_000)
  expect([await next(), await next(), calls()]).toEqual(['first', 'first', 2])
})

test('the latest value is undefined if the first read takes too long', async () => {
  expect(await counted(() => new Promise(() => undefined), 5).next()).toBeUndefined()
})

test('the latest value is an error if a read fails, and is read again for the next caller', async () => {
  const { next } = counted(async (call) => {
    if (call === 1) throw new Error('broken')
    return `read ${call}`
  })
  await expect(next()).rejects.toThrow('broken')
  expect(await next()).toBe('read 2')
})
