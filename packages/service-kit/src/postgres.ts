import { type ClientBase, DatabaseError, Pool, type QueryConfig, type QueryResultRow } from 'pg'
import { createPrimarySearch } from './postgres-primary.js'
import { postgresUrls } from './postgres-url.js'
import { StoreUnavailable } from './store-unavailable.js'

/** One named statement with its values: what every store sends. */
export type Statement = { name: string; text: string; values: readonly unknown[] }

export type Database = {
  /** @throws {StoreUnavailable} when Postgres cannot be reached; {DatabaseError} when it refuses the statement */
  query<Row extends QueryResultRow>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

/** How much of a pool of connections is used. */
export type PoolUse = { inUse: number; idle: number; waiting: number; most: number }

export type ConnectedDatabase = Database & { pool(): PoolUse }

const KEPT = 'set plan_cache_mode = force_generic_plan'

// What cannot go by an index goes all the same, at a price that would otherwise call for a compiler.
const BY_INDEX = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'].map((way) => `set enable_${way} = off`)
const SETTINGS = { kept: KEPT, 'kept by index': [KEPT, ...BY_INDEX, 'set jit = off'].join('; ') }

/**
 * A URL may name several servers; every connection goes to the primary among them, also when that is another one by then.
 * @param options.plans `kept`: every execution of a statement takes the plan that was made once for all values, for
 *   statements that are written for it. `kept by index`: and that plan goes from row to row by indexes wherever it can, so
 *   that one which was made while a table was empty is right for ten million rows too. Without: as Postgres sees fit
 * @param options.renewedAfterSeconds after that a connection makes room for a new one, and what it kept of statements ends
 *   with it, for statements that are named after tables which come and go. Without: it stays, and a lock that it holds too
 */
export function connectPostgres(
  url: string,
  options: { connections: number; plans?: keyof typeof SETTINGS; renewedAfterSeconds?: number }
): ConnectedDatabase {
  const settings = options.plans && SETTINGS[options.plans]
  const urls = postgresUrls(url)
  const search = urls.length > 1 ? createPrimarySearch(url) : undefined
  const pool = new Pool({
    connectionString: urls[0],
    ...(search && { Client: search.Client }),
    max: options.connections,
    // A new one costs some tens of milliseconds: those that are needed now and then stay.
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: 3_000,
    query_timeout: 10_000,
    statement_timeout: 8_000,
    keepAlive: true,
    maxLifetimeSeconds: options.renewedAfterSeconds ?? 0,
    onConnect: async (client: ClientBase) => {
      await search?.check(client)
      if (settings) await client.query(settings)
    }
  })
  // An idle connection that the server closes must not end the process; the next query opens another.
  pool.on('error', () => {})

  async function query<Row extends QueryResultRow>(statement: Statement, attempts: number): Promise<Row[]> {
    try {
      const result = await pool.query<Row>(statement as QueryConfig)
      return result.rows
    } catch (error) {
      if (attempts > 1 && search?.wasNeverSent(error)) return query(statement, attempts - 1)
      throw isOutage(error) ? new StoreUnavailable('postgres', error) : error
    }
  }

  return {
    query: (statement) => query(statement, urls.length),
    pool: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      most: options.connections
    }),
    close: () => pool.end()
  }
}

// SQLSTATE classes: connection, login, resources, operator intervention, system; a standby that is not yet a primary, and a
// database that is not there. A login is refused while a password is changed, and nobody who asks us can do better for that.
const OUTAGE = /^(08|28|53|57|58)|^(25006|3D000)$/

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
