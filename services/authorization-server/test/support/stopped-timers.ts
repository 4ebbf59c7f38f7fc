import { afterAll, jest } from '@jest/globals'

/** Stops the monotonic clock of this test file and of its servers, so that no time passes on a slow machine. */
export function stopMonotonicClock(): void {
  const stopped = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
  afterAll(() => stopped.mockRestore())
}

/** Timers of these lengths never fire in this test file and its servers. */
export function holdTimers(...milliseconds: readonly number[]): void {
  const { setTimeout: start } = globalThis
  const held = ((...call: Parameters<typeof start>) => {
    const timer = start(...call)
    if (milliseconds.includes(call[1] ?? 0)) clearTimeout(timer)
    return timer
  }) as typeof start
  const spied = jest.spyOn(globalThis, 'setTimeout').mockImplementation(held)
  afterAll(() => spied.mockRestore())
}
