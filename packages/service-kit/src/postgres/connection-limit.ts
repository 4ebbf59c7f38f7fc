import type { Client, ClientConfig, Pool } from 'pg'
import type { StoreState } from '../stores/store-state.js'
import { TOO_MANY_CONNECTIONS } from './postgres-problem.js'

/** How long a pool keeps a reduced maximum before it tries one connection more. */
const GROW_AFTER_MS = 5_000
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 500

const REMEDY = 'raise max_connections, or the connection limit of the role or the database; or run fewer processes'

type Connect = (done: (error: Error | undefined) => void) => void

export const isTooManyConnections = (error: unknown): boolean => Object(error).code === TOO_MANY_CONNECTIONS

/**
 * Adapts a pool's maximum to the connections that Postgres allows. After a refusal (SQLSTATE 53300) the maximum becomes the
 * number of open connections, so that statements wait for one of them. Five seconds later the pool may open one more, and
 * another one after each success. Without any connection there is one attempt at a time, with pauses.
 * @param wanted the pool's maximum without refusals
 */
export function createConnectionLimit(wanted: number, state: StoreState | undefined) {
  let pool: Pool | undefined
  let growth: NodeJS.Timeout | undefined
  let pauseMs = 0
  let isLogged = false

  function limitTo(connections: number): void {
    if (pool === undefined) return
    pool.options.max = Math.max(1, connections)
    clearTimeout(growth)
    growth = setTimeout(grow, GROW_AFTER_MS).unref()
  }

  function grow(): void {
    growth = undefined
    if (pool === undefined) return
    pool.options.max = Math.min(wanted, pool.options.max + 1)
    if (pool.options.max === wanted) isLogged = false
  }

  function refused(): void {
    // totalCount includes the refused connection.
    const connections = (pool?.totalCount ?? 1) - 1
    limitTo(connections)
    pauseMs = connections > 0 ? 0 : Math.min(MAX_PAUSE_MS, pauseMs * 2 || MIN_PAUSE_MS)
    if (isLogged) return
    isLogged = true
    state?.logger?.warn(
      { event: 'postgres_connection_limit', connections, wanted, remedy: REMEDY },
      'Postgres refuses more connections: statements wait for the open ones'
    )
  }

  function connected(): void {
    pauseMs = 0
    if (growth === undefined) grow()
  }

  return {
    /** The driver's class, with refusals counted and attempts paced. */
    watching: (Base: typeof Client): typeof Client => watchedClient(Base, () => pauseMs, refused),

    watch(watched: Pool): void {
      pool = watched
      pool.on('connect', connected)
    },

    /** Closes one of several connections, so that another part of the process can open one. */
    async giveUpOne(): Promise<void> {
      if (pool === undefined || pool.totalCount < 2) return
      limitTo(pool.totalCount - 1)
      const client = await pool.connect()
      client.release(true)
    },

    close(): void {
      clearTimeout(growth)
    }
  }
}

function watchedClient(Base: typeof Client, pauseMs: () => number, onRefusal: () => void): typeof Client {
  function WatchedClient(options: ClientConfig): Client {
    const client = new Base(options)
    const connect = client.connect.bind(client) as unknown as Connect
    const attempt: Connect = (done) =>
      connect((error) => {
        // Must run before the pool's callback, which may open the next connection.
        if (isTooManyConnections(error)) onRefusal()
        done(error)
      })
    const paced: Connect = (done) => (pauseMs() === 0 ? attempt(done) : void setTimeout(attempt, pauseMs(), done))
    client.connect = paced as Client['connect']
    return client
  }
  return WatchedClient as unknown as typeof Client
}
