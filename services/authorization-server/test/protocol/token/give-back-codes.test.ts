import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createCodeReturns } from '../../../src/protocol/token/give-back-codes.js'
import type { CodeContent } from '../../../src/storage/redis/codes.js'

const HASH = hashToken('a code')
const CONTENT = {} as CodeContent

let calls: unknown[][]
let answer: () => Promise<boolean>
let returns: ReturnType<typeof createCodeReturns>

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick'] })
  calls = []
  returns = createCodeReturns({
    giveBack: (...given) => {
      calls.push(given)
      return answer()
    }
  })
})
afterEach(() => {
  returns.close()
  jest.useRealTimers()
})

const unavailable = () => Promise.reject(new StoreUnavailable('redis', undefined))

describe('codes that are returned to Redis', () => {
  test('immediately if Redis responds, and only once', async () => {
    answer = async () => true
    await returns.giveBack(HASH, 'first', CONTENT)
    await jest.advanceTimersByTimeAsync(10_000)
    expect(calls).toEqual([[HASH, 'first', CONTENT]])
  })

  test('again four times a second while Redis is unavailable, until it responds', async () => {
    answer = unavailable
    await returns.giveBack(HASH, 'first', CONTENT)
    await jest.advanceTimersByTimeAsync(3_000)
    expect(calls).toHaveLength(13)
    answer = async () => true
    await jest.advanceTimersByTimeAsync(10_000)
    expect(calls).toHaveLength(14)
  })

  test('no longer than the lifetime of a code', async () => {
    answer = unavailable
    await returns.giveBack(HASH, 'first', CONTENT)
    await jest.advanceTimersByTimeAsync(120_000)
    expect(calls.length).toBeLessThanOrEqual(121)
  })

  test('the response of the request waits half a second for a Redis that does not respond', async () => {
    answer = () => new Promise(() => {})
    let waited = false
    const waiting = returns.giveBack(HASH, 'first', CONTENT).then(() => {
      waited = true
    })
    await jest.advanceTimersByTimeAsync(499)
    expect(waited).toBe(false)
    await jest.advanceTimersByTimeAsync(1)
    await waiting
  })

  test('a code without a response to its take: until Redis confirms that it was taken and returned', async () => {
    answer = async () => calls.length === 3
    returns.giveBackWhenTaken(HASH, 'first')
    await jest.advanceTimersByTimeAsync(10_000)
    expect(calls).toEqual(Array(3).fill([HASH, 'first']))
  })

  test('at most a thousand at a time, 500 of them without a response to the take, and none after the stop', async () => {
    answer = unavailable
    for (let count = 0; count < 1_500; count++) returns.giveBackWhenTaken(HASH, `unknown ${count}`)
    await jest.advanceTimersByTimeAsync(250)
    expect(calls).toHaveLength(500)
    const failed = Array.from({ length: 700 }, (_, count) => returns.giveBack(HASH, `failed ${count}`, CONTENT))
    await Promise.all(failed)
    calls = []
    await jest.advanceTimersByTimeAsync(250)
    expect(calls).toHaveLength(1_000)
    returns.close()
    calls = []
    await jest.advanceTimersByTimeAsync(10_000)
    expect(calls).toEqual([])
  })
})
