import type { Logger } from '@valetkey/service-kit'
import type { ExpiredRows } from './storage/expired-rows.js'

const ERASE_EVERY_MS = 5_000
const DELETE_EVERY_MS = 60_000
const KEEP_BUCKETS_EVERY_MS = 60_000

/**
 * Erases and deletes what has had its time, in the background, as long as the process lives.
 * @param keepBuckets makes the tables that access tokens will need, and drops those that are over
 */
export function startHousekeeping(
  expiredRows: ExpiredRows,
  keepBuckets: (now: Date) => Promise<void>,
  now: () => Date,
  logger: Logger
): { stop(): Promise<void> } {
  let stopped = false
  let running: Promise<void> = Promise.resolve()

  async function deleteAll(): Promise<void> {
    while (!stopped && (await expiredRows.deleteSome(now())));
  }

  function run(task: () => Promise<void>): void {
    running = running.then(task).catch((error: unknown) => {
      logger.warn({ event: 'housekeeping_failed', err: error }, 'housekeeping will try again')
    })
  }

  function repeat(task: () => Promise<void>, milliseconds: number): NodeJS.Timeout {
    return setInterval(() => run(task), milliseconds)
  }

  run(() => keepBuckets(now()))
  const timers = [
    repeat(() => keepBuckets(now()), KEEP_BUCKETS_EVERY_MS),
    repeat(() => expiredRows.eraseRetryAnswers(now()), ERASE_EVERY_MS),
    repeat(deleteAll, DELETE_EVERY_MS)
  ]
  return {
    async stop() {
      stopped = true
      for (const timer of timers) clearInterval(timer)
      await running
    }
  }
}
