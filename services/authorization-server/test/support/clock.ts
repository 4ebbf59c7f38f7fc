import { jest } from '@jest/globals'

/** Timers stay real, because the drivers of Postgres and Redis need them. */
const REAL = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'requestAnimationFrame',
  'cancelAnimationFrame',
  'requestIdleCallback',
  'cancelIdleCallback',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout'
] as const

let isStopped = false

export const isClockStopped = (): boolean => isStopped

/** Stops the clock of this test file and of its servers. It has whole seconds, and only the test changes it. */
export function stopClock(): { now(): Date; advance(seconds: number): void; restart(): void } {
  const start = Math.floor(Date.now() / 1000) * 1000
  jest.useFakeTimers({ now: start, doNotFake: [...REAL] })
  isStopped = true
  return {
    now: () => new Date(),
    advance: (seconds) => jest.setSystemTime(Date.now() + seconds * 1000),
    restart() {
      isStopped = false
      jest.useRealTimers()
    }
  }
}

/**
 * Stops the monotonic clock of this process, so that every LISTEN session stays verified while a slow machine works: an
 * unverified one sends no proof for a nonce that it accepted before, and the guard sends another one a second later.
 * `jest.restoreAllMocks` starts it again.
 */
export function stopMonotonicClock(): void {
  const now = performance.now()
  jest.spyOn(performance, 'now').mockImplementation(() => now)
}
