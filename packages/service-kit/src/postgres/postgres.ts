import {
  Client,
  type ClientBase,
  DatabaseError,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow
} from 'pg'
import { withTimeLimit } from '../process/with-time-limit.js'
import type { StoreState } from '../stores/store-state.js'
import { StoreUnavailable } from '../stores/store-unavailable.js'
import { createConnectionLimit, isTooManyConnections } from './connection-limit.js'
import { watchPooling } from './postgres-pooler.js'
import { createPrimarySearch } from './postgres-primary.js'
import { classifyPostgresError, SharedConnections, UnusableSetting } from './postgres-problem.js'
import {
  type FoundSettings,
  type Plans,
  planStatements,
  READ_SETTINGS,
  REQUEST_STATEMENT_TIMEOUT_MS,
  SET_OWN_SETTINGS,
  unusableSetting
} from './postgres-settings.js'
import { postgresUrls } from './postgres-url.js'
import { discard, type Silence, watchSilence } from './silent-connections.js'

/** One named statement with its values. */
export type Statement = {
  name: string
  text: string
  values: readonly unknown[]
  /**
   * Time limit in milliseconds, including the wait for a connection. Default 2.5 s: Postgres's share of the 5 s in which
   * every request gets a response. Background work may take longer (`LONG_STATEMENT_MS`).
   */
  withinMs?: number
}

export type Database = {
  /** @throws {StoreUnavailable} when Postgres cannot be reached; {DatabaseError} when it refuses the statement */
  query<Row extends QueryResultRow>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

/** Use of a pool of connections. */
type PoolUse = { inUse: number; idle: number; waiting: number; most: number }

export type ConnectedDatabase = Database & {
  pool(): PoolUse
  /** Closes one of several connections, so that this process can use it elsewhere. */
  giveUpOne(): Promise<void>
  /** Fails if the connections go through a pooler in a mode that does not work. @throws {StoreUnavailable} */
  refuseSharing(): Promise<void>
}

/** The time limit of housekeeping, commands, and administration of many rows. */
export const LONG_STATEMENT_MS = 10_000
/**
 * The limits of requests. If both stores stall one after the other, a request waits 1 s for Redis, 2.5 s here, and up to
 * 1 s in an exchange that waits by itself. Postgres's own time limits are shorter than ours, so that a statement that waits
 * for a lock fails with an error of Postgres, and the connection stays usable.
 */
const CANCEL_MARGIN_MS = 500
const STATEMENT_MS = REQUEST_STATEMENT_TIMEOUT_MS + CANCEL_MARGIN_MS

const CONNECT_LIMIT_MS = 2_000

/**
 * The URL may name several servers; every connection goes to the current primary.
 * @param options.pooled the URL leads to a pooler, which may be in transaction mode. Its connections are shared, so they get
 *   no settings: the role has them (`roleSettings`)
 * @param options.plans planner settings; default: Postgres decides
 * @param options.renewedAfterSeconds maximum age of a connection. Its prepared statements end with it, which matters for
 *   statements that name tables of access tokens. Default: unlimited, for connections that hold a lock
 * @param options.statementMs time limit of statements without `withinMs`; 2.5 s by default
 * @param options.connectMs time limit of a connection from the pool; half of it for the queries that prepare a new one; 2 s by
 *   default
 * @param options.state gets the failures that mean that Postgres is unavailable
 */
export function connectPostgres(
  url: string,
  options: {
    connections: number
    pooled?: boolean
    plans?: Plans
    renewedAfterSeconds?: number
    statementMs?: number
    connectMs?: number
    state?: StoreState | undefined
  }
): ConnectedDatabase {
  const { connections, state, statementMs = STATEMENT_MS, connectMs = CONNECT_LIMIT_MS, pooled = false } = options
  const plans = options.plans ? [planStatements(options.plans)] : []
  const settings = pooled ? [] : [...plans, SET_OWN_SETTINGS]
  const urls = postgresUrls(url)
  const search = urls.length > 1 ? createPrimarySearch(url) : undefined
  const limit = createConnectionLimit(connections, state)
  const pooling = watchPooling(url, pooled)
  const silence = watchSilence()
  const pool = new Pool({
    // Opening a connection takes tens of milliseconds, so idle ones are kept for a minute.
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs / 2,
    keepAlive: true,
    // PgBouncer refuses this parameter of a connection.
    ...(!pooled && { statement_timeout: statementMs - CANCEL_MARGIN_MS }),
    connectionString: urls[0],
    Client: limit.watching(search?.Client ?? Client),
    max: connections,
    maxLifetimeSeconds: options.renewedAfterSeconds ?? 0,
    onConnect: async (client: ClientBase) => {
      await search?.check(client)
      pooling.noteConnection(client, await prepareConnection(client, settings))
      silence.noteResponse(client)
    }
  })
  limit.watch(pool)
  // Without a listener, an idle connection that the server closes would end the process.
  pool.on('error', () => {})

  async function query<Row extends QueryResultRow>(
    statement: Statement,
    attempts: number,
    until = performance.now() + (statement.withinMs ?? statementMs)
  ): Promise<Row[]> {
    try {
      return (await send<Row>({ pool, silence }, statement, { until, statementMs })).rows
    } catch (error) {
      const isTimeLeft = performance.now() < until
      if (attempts > 1 && isTimeLeft && search?.wasNeverSent(error)) return query(statement, attempts - 1, until)
      const verdict = classifyPostgresError(error)
      if (verdict.kind === 'refused') throw error
      // The statement has no name: the connection of a pooler may still have a prepared statement that Postgres refuses.
      if (verdict.kind === 'again' && attempts > 0 && isTimeLeft) return query({ ...statement, name: '' }, 0, until)
      if (verdict.kind === 'unavailable' && !pool.ending) state?.failed(verdict.problem)
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
      const found = await pooling.find()
      if (found === 'mixed' || (found === 'transaction' && !pooled)) {
        throw new StoreUnavailable('postgres', new SharedConnections(found))
      }
    },
    async close() {
      limit.close()
      await pool.end()
    }
  }
}

type Connections = { pool: Pool; silence: Silence }
type TimeLimit = { until: number; statementMs: number }

/**
 * Applies the settings of a new connection and returns its process id, in one round trip.
 * @throws {UnusableSetting} if requests would fail with a setting that this connection has
 */
async function prepareConnection(client: ClientBase, settings: readonly string[]): Promise<number | undefined> {
  const results = [await client.query([...settings, READ_SETTINGS].join('; '))].flat() as QueryResult<FoundSettings>[]
  const found = results.at(-1)?.rows[0]
  const unusable = found && unusableSetting(found)
  if (unusable !== undefined) throw new UnusableSetting(unusable.name)
  return found?.pid
}

/** Repeats the attempt while Postgres refuses more connections; the pool then waits for an open one. */
async function send<Row extends QueryResultRow>(
  connections: Connections,
  statement: Statement,
  limit: TimeLimit
): Promise<QueryResult<Row>> {
  for (;;) {
    try {
      return await sendOnce<Row>(connections, statement, limit)
    } catch (error) {
      if (!isTooManyConnections(error) || performance.now() > limit.until) throw error
    }
  }
}

async function sendOnce<Row extends QueryResultRow>(
  { pool, silence }: Connections,
  { withinMs, ...statement }: Statement,
  { until, statementMs }: TimeLimit
): Promise<QueryResult<Row>> {
  const client = await takeConnection({ pool, silence }, until)
  const sentAt = performance.now()
  // A broken connection fails the statement. Without a listener it would also end the process.
  const ignore = () => {}
  client.on('error', ignore)
  let failure: unknown
  try {
    const ask = <AnyRow extends QueryResultRow>(query: QueryConfig) => {
      const timeLeft = Math.max(1, Math.ceil(until - performance.now()))
      // The driver has this option, but its types do not.
      const config: QueryConfig & { query_timeout: number } = { ...query, query_timeout: timeLeft }
      return client.query<AnyRow>(config)
    }
    const isLong = withinMs !== undefined && withinMs > statementMs
    // The limit is set in a transaction, so that the time limit does not stay behind on a connection of a pooler.
    if (isLong) await ask({ text: `begin; set local statement_timeout = ${withinMs - CANCEL_MARGIN_MS}` })
    const result = await ask<Row>(statement as QueryConfig)
    if (isLong) await ask({ text: 'commit' })
    return result
  } catch (error) {
    failure = error
    throw error
  } finally {
    if (failure === undefined || failure instanceof DatabaseError) silence.noteResponse(client)
    else silence.noteSilence(sentAt)
    client.off('error', ignore)
    // After a failure the connection may still have an outstanding response, so it is closed.
    client.release(failure !== undefined)
  }
}

/** A connection of the pool whose server has not been silent. */
async function takeConnection({ pool, silence }: Connections, until: number): Promise<PoolClient> {
  for (;;) {
    const client = await connectBy(pool, until)
    if (!silence.isSuspect(client)) return client
    discard(client)
  }
}

/** A connection of the pool. A connection that comes after `until` is returned to the pool. */
function connectBy(pool: Pool, until: number): Promise<PoolClient> {
  const connecting = pool.connect()
  return withTimeLimit(Math.max(1, until - performance.now()), connecting, () => {
    connecting.then((client) => client.release()).catch(() => {})
    throw new Error('timeout while waiting for a connection')
  })
}
