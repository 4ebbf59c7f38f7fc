import type { Logger } from '@valetkey/service-kit'
import type { ExpiredRows } from './storage/expired-rows.js'

const ERASE_EVERY_MS = 5_000
const DELETE_EVERY_MS = 60_000

/** Erases and deletes what has had its time, in the background, as long as the process lives. */
export function startHousekeeping(
  expiredRows: ExpiredRows,
  now: () => Date,
  logger: Logger
): { stop(): Promise<void> } {
  let stopped = false
  let running: Promise<void> = Promise.resolve()

  async function deleteAll(): Promise<void> {
    while (!stopped && (await expiredRows.deleteSome(now())));
  }

  function repeat(task: () => Promise<void>, milliseconds: number): NodeJS.Timeout {
    return setInterval(() => {
      running = running.then(task).catch((error: unknown) => {
        logger.warn({ event: 'housekeeping_failed', err: error }, 'housekeeping will try again')
      })
    }, milliseconds)
  }

  const timers = [
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
