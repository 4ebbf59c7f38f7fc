import { withTimeLimit } from './with-time-limit.js'

/** Waits until all tasks have ended, with or without success, but no longer than a time limit. */
export async function settleWithin(milliseconds: number, tasks: readonly Promise<unknown>[]): Promise<void> {
  await withTimeLimit(milliseconds, Promise.allSettled(tasks), () => undefined)
}
