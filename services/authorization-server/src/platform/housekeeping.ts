import type { Logger } from '@valetkey/service-kit'
import type { ExpiredRows } from '../storage/postgres/expired-rows.js'

type HousekeepingTasks = {
  periodicTasks: readonly (() => Promise<void>)[]
  expiryTasks: readonly ExpiryTask[]
}

const ERASE_EVERY_MS = 5_000
const DELETE_EVERY_MS = 60_000
const REPEAT_EVERY_MS = 60_000

/** Deletes one batch of expired rows. @returns whether it was full, so more rows are likely */
export type ExpiryTask = () => Promise<boolean>

/**
 * Deletes expired rows and erases stored responses, in the background.
 * @param tasks.periodicTasks run at the start and every minute
 * @param tasks.expiryTasks delete expired rows of features
 */
export function startHousekeeping(
  expiredRows: ExpiredRows,
  { periodicTasks, expiryTasks }: HousekeepingTasks,
  logger: Logger
): { stop(): Promise<void> } {
  let stopped = false
  // Independent of each other: a deletion of millions of rows takes long, but responses must be erased within seconds.
  const periodic = periodicTasks.map((task) => repeat(task, REPEAT_EVERY_MS))
  const erasing = repeat(() => untilDone(expiredRows.eraseSomeRetryResponses), ERASE_EVERY_MS)
  const deleting = repeat(() => untilDone(deleteSome), DELETE_EVERY_MS)
  for (const work of periodic) work.run()

  async function deleteSome(): Promise<boolean> {
    let isMoreLikely = await expiredRows.deleteSome()
    for (const task of expiryTasks) isMoreLikely = (await task()) || isMoreLikely
    return isMoreLikely
  }

  async function untilDone(doSome: () => Promise<boolean>): Promise<void> {
    while (!stopped && (await doSome()));
  }

  /** One run at a time: while a run lasts, further runs are skipped. */
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
      await Promise.all([...periodic, erasing, deleting].map((work) => work.stop()))
    }
  }
}
