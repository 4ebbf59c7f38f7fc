import { withTimeLimit } from './with-time-limit.js'

/**
 * The limits of a service that stops. Listeners close open requests after 6 s. With the later steps, they stay below the 15 s
 * after which the process exits.
 */
export const STOP_LIMITS_MS = { listeners: 6_500, operatorListener: 2_000 } as const

/** Waits until all tasks have ended, with or without success, but no longer than a time limit. */
export async function settleWithin(milliseconds: number, tasks: readonly Promise<unknown>[]): Promise<void> {
  await withTimeLimit(milliseconds, Promise.allSettled(tasks), () => undefined)
}
