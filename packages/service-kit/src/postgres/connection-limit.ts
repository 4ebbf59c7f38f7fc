import type { Client, ClientConfig, Pool } from 'pg'
import type { StoreState } from '../stores/store-state.js'
import { TOO_MANY_CONNECTIONS } from './postgres-problem.js'

/** How long a pool stays at what it got before it asks for one connection more. */
const GROW_AFTER_MS = 5_000
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 500

const REMEDY = 'raise max_connections, or the connection limit of the role or the database; or run fewer processes'

type Connect = (done: (error: Error | undefined) => void) => void

export const isTooManyConnections = (error: unknown): boolean => Object(error).code === TOO_MANY_CONNECTIONS

/**
 * Keeps a pool within the connections that Postgres gives it. After a refusal (SQLSTATE 53300) the pool's maximum is what
 * it has, so that statements wait for a connection that is open. Some seconds later it may try one more, and after each
 * success another one. Without any connection there is one attempt at a time, after a pause.
 * @param wanted the pool's maximum when nothing is refused
 */
export function createConnectionLimit(wanted: number, state: StoreState | undefined) {
  let pool: Pool | undefined
  let growth: NodeJS.Timeout | undefined
  let pauseMs = 0
  let isLogged = false

  function hold(most: number): void {
    if (pool === undefined) return
    pool.options.max = Math.max(1, most)
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
    // The connection that was refused is still counted.
    const connections = (pool?.totalCount ?? 1) - 1
    hold(connections)
    pauseMs = connections > 0 ? 0 : Math.min(LAST_PAUSE_MS, pauseMs * 2 || FIRST_PAUSE_MS)
    if (isLogged) return
    isLogged = true
    state?.logger?.warn(
      { event: 'postgres_connection_limit', connections, wanted, remedy: REMEDY },
      'Postgres refuses more connections: statements wait for those that are open'
    )
  }

  function connected(): void {
    pauseMs = 0
    if (growth === undefined) grow()
  }

  return {
    /** The driver's class, with attempts that are counted here. */
    watching: (Base: typeof Client): typeof Client => watchedClient(Base, () => pauseMs, refused),

    watch(watched: Pool): void {
      pool = watched
      pool.on('connect', connected)
    },

    /** Closes one connection, when there are several, so that another part of the process can have it. */
    async giveUpOne(): Promise<void> {
      if (pool === undefined || pool.totalCount < 2) return
      hold(pool.totalCount - 1)
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
        // Before the pool opens the next one in its place.
        if (isTooManyConnections(error)) onRefusal()
        done(error)
      })
    const paced: Connect = (done) => (pauseMs() === 0 ? attempt(done) : void setTimeout(attempt, pauseMs(), done))
    client.connect = paced as Client['connect']
    return client
  }
  return WatchedClient as unknown as typeof Client
}
