import type { Logger } from '@valetkey/service-kit'
import type { ExpiredRows } from '../storage/postgres/expired-rows.js'

const ERASE_EVERY_MS = 5_000
const DELETE_EVERY_MS = 60_000
const KEEP_BUCKETS_EVERY_MS = 60_000

/**
 * Erases and deletes what has had its time, in the background, as long as the process lives.
 * @param keepBuckets makes the tables that access tokens will need, and drops those that are over
 */
export function startHousekeeping(
  expiredRows: ExpiredRows,
  keepBuckets: () => Promise<void>,
  logger: Logger
): { stop(): Promise<void> } {
  let stopped = false
  // Each by itself: a deletion of millions takes its time, and what must be erased within seconds does not wait for it.
  const keepingBuckets = repeat(keepBuckets, KEEP_BUCKETS_EVERY_MS)
  const erasing = repeat(() => untilDone(expiredRows.eraseSomeRetryAnswers), ERASE_EVERY_MS)
  const deleting = repeat(() => untilDone(expiredRows.deleteSome), DELETE_EVERY_MS)
  keepingBuckets.run()

  async function untilDone(doSome: () => Promise<boolean>): Promise<void> {
    while (!stopped && (await doSome()));
  }

  /** Never two at a time: while one runs, those that would begin are left out. */
  function repeat(task: () => Promise<void>, milliseconds: number) {
    let running: Promise<void> | undefined
    const run = () => {
      running ??= task()
        .catch((error: unknown) => {
          logger.warn({ event: 'housekeeping_failed', err: error }, 'housekeeping will try again')
        })
        .finally(() => {
          running = undefined
        })
    }
    const timer = setInterval(run, milliseconds)
    return {
      run,
      async stop() {
        clearInterval(timer)
        await running
      }
    }
  }

  return {
    async stop() {
      stopped = true
      await Promise.all([keepingBuckets, erasing, deleting].map((work) => work.stop()))
    }
  }
}
