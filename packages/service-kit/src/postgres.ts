import { type ClientBase, DatabaseError, Pool, type QueryConfig, type QueryResultRow } from 'pg'
import { StoreUnavailable } from './store-unavailable.js'

/** One named statement with its values: what every store sends. */
export type Statement = { name: string; text: string; values: readonly unknown[] }

export type Database = {
  /** @throws {StoreUnavailable} when Postgres cannot be reached; {DatabaseError} when it refuses the statement */
  query<Row extends QueryResultRow>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

const KEPT = 'set plan_cache_mode = force_generic_plan'

// What cannot go by an index goes all the same, at a price that would otherwise call for a compiler.
const BY_INDEX = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'].map((way) => `set enable_${way} = off`)
const SETTINGS = { kept: KEPT, 'kept by index': [KEPT, ...BY_INDEX, 'set jit = off'].join('; ') }

/**
 * @param options.plans `kept`: every execution of a statement takes the plan that was made once for all values, for
 *   statements that are written for it. `kept by index`: and that plan goes from row to row by indexes wherever it can, so
 *   that one which was made while a table was empty is right for ten million rows too. Without: as Postgres sees fit
 */
export function connectPostgres(
  url: string,
  options: { connections: number; plans?: keyof typeof SETTINGS }
): Database {
  const settings = options.plans && SETTINGS[options.plans]
  const pool = new Pool({
    connectionString: url,
    max: options.connections,
    // A new one costs some tens of milliseconds: those that are needed now and then stay.
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: 3_000,
    query_timeout: 10_000,
    statement_timeout: 8_000,
    keepAlive: true,
    // Statements may be named after tables that come and go: what a connection has kept of them ends with it.
    maxLifetimeSeconds: 3_600,
    ...(settings && {
      onConnect: async (client: ClientBase) => {
        await client.query(settings)
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

/** Whether a statement was refused because a table that it names is not there. */
export function isUndefinedTable(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '42P01'
}

/** Whether a statement was refused because a value that must be unique is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23505'
}
