import {
  Client,
  type ClientBase,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow
} from 'pg'
import type { StoreState } from '../stores/store-state.js'
import { StoreUnavailable } from '../stores/store-unavailable.js'
import { createConnectionLimit, isTooManyConnections } from './connection-limit.js'
import { ASK_PID, watchPooling } from './postgres-pooler.js'
import { createPrimarySearch } from './postgres-primary.js'
import { classifyPostgresError, SharedConnections, sqlStateOf } from './postgres-problem.js'
import { postgresUrls } from './postgres-url.js'

/** One named statement with its values: what every store sends. */
export type Statement = {
  name: string
  text: string
  values: readonly unknown[]
  /**
   * How long its answer may take, in milliseconds, with the wait for a connection. Without: 2.5 s, the part of Postgres in
   * the 5 s in which every request is answered. More than that is for work in the background, as `LONG_STATEMENT_MS`.
   */
  withinMs?: number
}

export type Database = {
  /** @throws {StoreUnavailable} when Postgres cannot be reached; {DatabaseError} when it refuses the statement */
  query<Row extends QueryResultRow>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

/** How much of a pool of connections is used. */
export type PoolUse = { inUse: number; idle: number; waiting: number; most: number }

export type ConnectedDatabase = Database & {
  pool(): PoolUse
  /** Closes one connection of the pool, when there are several, for another use in this process. */
  giveUpOne(): Promise<void>
  /** Looks for a pooler that shares connections, when the last connection came from a pooler. @throws {StoreUnavailable} */
  refuseSharing(): Promise<void>
}

/** For housekeeping, command lines and administration of many rows. */
export const LONG_STATEMENT_MS = 10_000
/**
 * Of a request. If Postgres stalls after Redis has stalled, the request waits for both: 1 s for Redis, 2.5 s here, and 1 s at
 * most in an exchange that waits by itself. A lock that is not had in time must be Postgres's own answer, so that the
 * connection stays.
 */
const STATEMENT_MS = 2_500
const CANCEL_EARLIER_MS = 500

const CONNECT_LIMIT_MS = 2_000
/** What is asked of a new connection before it is used. */
const PREPARE_LIMIT_MS = 1_000

const LIMITS = {
  // A new one costs some tens of milliseconds: those that are needed now and then stay.
  idleTimeoutMillis: 60_000,
  connectionTimeoutMillis: CONNECT_LIMIT_MS,
  query_timeout: PREPARE_LIMIT_MS,
  keepAlive: true
}

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
 * @param options.statementMs how long a statement may take that does not say so itself; 2.5 s by default
 * @param options.state hears of failures that say that Postgres cannot be used
 */
export function connectPostgres(
  url: string,
  options: {
    connections: number
    plans?: keyof typeof SETTINGS
    renewedAfterSeconds?: number
    statementMs?: number
    state?: StoreState | undefined
  }
): ConnectedDatabase {
  const { connections, state, statementMs = STATEMENT_MS } = options
  const settings = options.plans && SETTINGS[options.plans]
  const urls = postgresUrls(url)
  const search = urls.length > 1 ? createPrimarySearch(url) : undefined
  const limit = createConnectionLimit(connections, state)
  const pooling = watchPooling(url)
  const pool = new Pool({
    ...LIMITS,
    statement_timeout: statementMs - CANCEL_EARLIER_MS,
    connectionString: urls[0],
    Client: limit.watching(search?.Client ?? Client),
    max: connections,
    maxLifetimeSeconds: options.renewedAfterSeconds ?? 0,
    onConnect: async (client: ClientBase) => {
      await search?.check(client)
      pooling.noteConnection(client, await prepare(client, settings))
    }
  })
  limit.watch(pool)
  // An idle connection that the server closes must not end the process; the next query opens another.
  pool.on('error', () => {})

  async function query<Row extends QueryResultRow>(
    statement: Statement,
    attempts: number,
    until = performance.now() + (statement.withinMs ?? statementMs)
  ): Promise<Row[]> {
    try {
      return (await send<Row>(pool, statement, { until, statementMs })).rows
    } catch (error) {
      const isTimeLeft = performance.now() < until
      if (attempts > 1 && isTimeLeft && search?.wasNeverSent(error)) return query(statement, attempts - 1, until)
      const verdict = classifyPostgresError(error)
      if (verdict.kind === 'refused') throw error
      if (verdict.kind === 'again' && attempts > 0 && isTimeLeft) return query(statement, 0, until)
      if (verdict.kind === 'away' && !pool.ending) state?.failed(verdict.problem)
      throw new StoreUnavailable('postgres', error)
    }
  }

  return {
    query: (statement) => query(statement, urls.length),
    pool: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      most: pool.options.max
    }),
    giveUpOne: limit.giveUpOne,
    async refuseSharing() {
      if ((await pooling.find()) === 'shared') throw new StoreUnavailable('postgres', new SharedConnections())
    },
    async close() {
      limit.close()
      await pool.end()
    }
  }
}

type TimeLimit = { until: number; statementMs: number }

/** Waits for a connection that is open when Postgres gives no other one. */
async function send<Row extends QueryResultRow>(
  pool: Pool,
  statement: Statement,
  limit: TimeLimit
): Promise<QueryResult<Row>> {
  for (;;) {
    try {
      return await sendOnce<Row>(pool, statement, limit)
    } catch (error) {
      if (!isTooManyConnections(error) || performance.now() > limit.until) throw error
    }
  }
}

async function sendOnce<Row extends QueryResultRow>(
  pool: Pool,
  { withinMs, ...statement }: Statement,
  { until, statementMs }: TimeLimit
): Promise<QueryResult<Row>> {
  const client = await connectBy(pool, until)
  // A connection that breaks fails the statement; without a listener it would also end the process.
  const ignore = () => {}
  client.on('error', ignore)
  let failure: unknown
  try {
    const isLong = withinMs !== undefined && withinMs > statementMs
    if (isLong) await client.query(`set statement_timeout = ${withinMs - CANCEL_EARLIER_MS}`)
    const timeLeft = Math.max(1, Math.ceil(until - performance.now()))
    // The driver knows the option; its types do not.
    const config: QueryConfig & { query_timeout: number } = { ...(statement as QueryConfig), query_timeout: timeLeft }
    const result = await client.query<Row>(config)
    if (isLong) await client.query('reset statement_timeout')
    return result
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.off('error', ignore)
    // After a failure the connection may still wait for an answer: it is closed.
    client.release(failure !== undefined)
  }
}

/** A connection of the pool. What comes after `until` goes back to the pool. */
async function connectBy(pool: Pool, until: number): Promise<PoolClient> {
  const connecting = pool.connect()
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    const giveUp = () => {
      connecting.then((client) => client.release()).catch(() => {})
      reject(new Error('timeout while waiting for a connection'))
    }
    timer = setTimeout(giveUp, Math.max(1, until - performance.now()))
  })
  try {
    return await Promise.race([connecting, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

/** The settings of a new connection, in one round trip with the number of the process behind it. */
async function prepare(client: ClientBase, settings: string | undefined): Promise<number | undefined> {
  const text = settings === undefined ? ASK_PID : `${settings}; ${ASK_PID}`
  const results = [await client.query(text)].flat() as QueryResult<{ pid: number }>[]
  return results.at(-1)?.rows[0]?.pid
}

/** Whether a statement was refused because a table that it names is not there. */
export function isUndefinedTable(error: unknown): boolean {
  return sqlStateOf(error) === '42P01'
}

/** Whether a statement was refused because a value that must be unique is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505'
}
