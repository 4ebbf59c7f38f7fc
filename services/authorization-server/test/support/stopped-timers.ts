import { jest } from '@jest/globals'

/**
 * Stops the monotonic clock of this process, so that no time passes on a slow machine.
 * @returns a function that lets time pass again; other test files of this process need it
 */
export function stopMonotonicClock(): () => void {
  const stopped = jest.spyOn(performance, 'now').mockReturnValue(Math.floor(performance.now()))
  return () => stopped.mockRestore()
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
