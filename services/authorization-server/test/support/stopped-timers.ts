import { jest } from '@jest/globals'

/** Stops the monotonic clock of this process, so that no time passes on a slow machine. Other test files need `restart`. */
export function stopMonotonicClock(): { advance(milliseconds: number): void; restart(): void } {
  let now = Math.floor(performance.now())
  const stopped = jest.spyOn(performance, 'now').mockImplementation(() => now)
  return {
    advance(milliseconds) {
      now += milliseconds
    },
    restart: () => stopped.mockRestore()
  }
}

/** Timers of these lengths never fire in this test file and its servers. @returns a function that ends this for later timers */
export function holdTimers(...milliseconds: readonly number[]): () => void {
  const { setTimeout: start } = globalThis
  const held = ((...call: Parameters<typeof start>) => {
    const timer = start(...call)
    if (milliseconds.includes(call[1] ?? 0)) clearTimeout(timer)
    return timer
  }) as typeof start
  const spied = jest.spyOn(globalThis, 'setTimeout').mockImplementation(held)
  return () => spied.mockRestore()
}
