import { type ClientBase, DatabaseError, Pool, type QueryConfig, type QueryResultRow } from 'pg'
import { StoreUnavailable } from './store-unavailable.js'

/** One named statement with its values: what every store sends. */
export type Statement = { name: string; text: string; values: readonly unknown[] }

export type Database = {
  /** @throws {StoreUnavailable} when Postgres cannot be reached; {DatabaseError} when it refuses the statement */
  query<Row extends QueryResultRow>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

/**
 * @param options.plans `kept`: every execution of a statement takes the plan that was made once for all values, for
 *   statements that are written for it. `fresh`: each execution is planned anew; a plan that was made while a table was
 *   small would stay until the table is analyzed, and may be a hundred times as slow. Without: as Postgres sees fit
 */
export function connectPostgres(url: string, options: { connections: number; plans?: 'kept' | 'fresh' }): Database {
  const pool = new Pool({
    connectionString: url,
    max: options.connections,
    // A new one costs some tens of milliseconds: those that are needed now and then stay.
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: 3_000,
    query_timeout: 10_000,
    statement_timeout: 8_000,
    keepAlive: true,
    ...(options.plans && {
      onConnect: async (client: ClientBase) => {
        const mode = options.plans === 'kept' ? 'force_generic_plan' : 'force_custom_plan'
        await client.query(`set plan_cache_mode = ${mode}`)
      }
    })
  })
  // An idle connection that the server closes must not end the process; the next query opens another.
  pool.on('error', () => {})
  return {
    async query<Row extends QueryResultRow>(statement: Statement) {
      try {
        const result = await pool.query<Row>(statement as QueryConfig)
        return result.rows
      } catch (error) {
        throw isOutage(error) ? new StoreUnavailable('postgres', error) : error
      }
    },
    close: () => pool.end()
  }
}

// SQLSTATE classes: connection, resources, operator intervention, system; and a standby that is not yet a primary.
const OUTAGE = /^(08|53|57|58)|^25006$/

function isOutage(error: unknown): boolean {
  // Anything that is not an answer of the server is a lost connection or a time-out.
  return !(error instanceof DatabaseError) || OUTAGE.test(error.code ?? '')
}

/** Whether a statement was refused because a value that must be unique is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23505'
}
