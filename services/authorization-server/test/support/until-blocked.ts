import { setTimeout as sleep } from 'node:timers/promises'

type Run = (text: string) => Promise<readonly unknown[]>

/** Statements in this database that wait for a lock. */
export const BLOCKED = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** @param run queries outside of a transaction, because inside one the activity does not change; returns the rows */
export async function untilBlocked(run: Run, count = 1): Promise<void> {
  while ((await run(BLOCKED)).length < count) await sleep(10)
}
