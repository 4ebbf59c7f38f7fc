import type { MigratedDatabase } from './migrated-database.js'

/** Waits until a statement in this database waits for a lock that another one holds. */
export async function untilBlocked({ run }: MigratedDatabase): Promise<void> {
  const text = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  for (let look = 0; look < 500; look += 1) {
    if ((await run(text)).length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('no statement waits')
}
