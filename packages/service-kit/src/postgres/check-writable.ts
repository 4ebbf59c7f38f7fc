import { StoreUnavailable } from '../stores/store-unavailable.js'
import type { Database } from './postgres.js'
import { ReadOnlyDatabase } from './postgres-problem.js'

type Row = { is_read_only: boolean; is_granted: boolean }

/**
 * Checks readiness: with a read-only database most requests fail.
 * @param tables that this service reads and writes; the check also fails if one is missing
 * @throws {StoreUnavailable} when Postgres is read-only, or the role lacks a privilege
 */
export async function checkWritable(database: Pick<Database, 'query'>, tables: readonly string[]): Promise<void> {
  const [row] = await database.query<Row>({ name: 'check_writable', text: STATEMENT, values: [tables] })
  if (row?.is_read_only) throw new StoreUnavailable('postgres', new ReadOnlyDatabase())
  if (!row?.is_granted) throw new StoreUnavailable('postgres', new Error('the role lacks a privilege on a table'))
}

const STATEMENT = `
  select current_setting('transaction_read_only') = 'on' as is_read_only,
    bool_and(has_table_privilege(required_table.name, needed.privilege)) as is_granted
  from unnest($1::text[]) as required_table (name) cross join unnest('{select,insert,update,delete}'::text[]) as needed (privilege)`
