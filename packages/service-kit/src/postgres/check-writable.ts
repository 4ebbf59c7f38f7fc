import { StoreUnavailable } from '../stores/store-unavailable.js'
import type { Database } from './postgres.js'
import { ReadOnlyDatabase } from './postgres-problem.js'

type Row = { is_read_only: boolean; is_granted: boolean }

/**
 * For readiness: a database that only answers reads fails most requests.
 * @param tables that this service reads and writes; a missing one fails the check as well
 * @throws {StoreUnavailable} when Postgres takes no writes, or the role lacks a right
 */
export async function checkWritable(database: Pick<Database, 'query'>, tables: readonly string[]): Promise<void> {
  const [row] = await database.query<Row>({ name: 'check_writable', text: STATEMENT, values: [tables] })
  if (row?.is_read_only) throw new StoreUnavailable('postgres', new ReadOnlyDatabase())
  if (!row?.is_granted) throw new StoreUnavailable('postgres', new Error('the role lacks a right to a table'))
}

const STATEMENT = `
  select current_setting('transaction_read_only') = 'on' as is_read_only,
    bool_and(has_table_privilege(asked.name, needed.privilege)) as is_granted
  from unnest($1::text[]) as asked (name) cross join unnest('{select,insert,update,delete}'::text[]) as needed (privilege)`
