import { Client, type ClientBase, DatabaseError } from 'pg'
import { postgresUrls } from './postgres-url.js'

/**
 * `direct`: no pooler. `session`: a pooler in session mode. `transaction`: a pooler that shares connections, and keeps
 * prepared statements and transactions apart. `mixed`: a pooler that shares connections and does not, such as PgBouncer
 * before 1.21, or any in statement mode.
 */
export type Pooling = 'direct' | 'session' | 'transaction' | 'mixed'

/** The process id of the connection's Postgres process. */
export const ASK_PID = 'select pg_backend_pid() as pid'

/** A pooler sends a process id of its own at connection time, with its own cancellation key. */
export function isBehindPooler(client: ClientBase, pid: number | undefined): boolean {
  const { processID } = client as unknown as { processID: number | null }
  return pid !== processID
}

// Irregular, so that a pooler that alternates between two connections is not mistaken for one in session mode.
const ORDER = [0, 0, 1, 0, 1, 1, 0, 0, 1, 1] as const

const LIMITS = { connectionTimeoutMillis: 1_500, query_timeout: 1_500 }

type Row = { pid: number; asked: number }

/**
 * Opens two connections and checks whether each keeps its own Postgres process, its prepared statements and its
 * transactions. @param url if it names several servers, the first that responds is examined; after a failover, another one
 * may be unavailable. @throws when it cannot connect or query
 */
export async function findPooling(url: string): Promise<Pooling> {
  let failure: unknown
  for (const connectionString of postgresUrls(url)) {
    try {
      return await findPoolingAt(connectionString)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

async function findPoolingAt(connectionString: string): Promise<Pooling> {
  const clients = [new Client({ ...LIMITS, connectionString }), new Client({ ...LIMITS, connectionString })] as const
  try {
    for (const client of clients) {
      client.on('error', () => {})
      await client.connect()
    }
    return await examine(clients)
  } catch (error) {
    if (isMixedUp(error)) return 'mixed'
    throw error
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

async function examine(clients: readonly [Client, Client]): Promise<Pooling> {
  const pids = [new Set<number>(), new Set<number>()] as const
  let isPooled = false
  for (const index of ORDER) {
    // One name with two texts: a pooler must know which of the two this connection means.
    const text = `select pg_backend_pid() as pid, ${index} as asked`
    const { rows } = await clients[index].query<Row>({ name: 'find_pooling', text })
    const { pid, asked } = rows[0] as Row
    if (asked !== index) return 'mixed'
    pids[index].add(pid)
    isPooled ||= isBehindPooler(clients[index], pid)
  }
  if (!isPooled) return 'direct'
  const isShared = pids.some(({ size }) => size > 1) || [...pids[0]].some((pid) => pids[1].has(pid))
  if (!isShared) return 'session'
  return (await allowsTransactions(clients[0])) ? 'transaction' : 'mixed'
}

/** In statement mode, PgBouncer refuses them and ends the connection. */
async function allowsTransactions(client: Client): Promise<boolean> {
  try {
    await client.query('begin')
    await client.query('rollback')
    return true
  } catch (error) {
    if (error instanceof DatabaseError) return false
    throw error
  }
}

// A prepared statement that is missing, or exists already.
const MIXED_UP = ['26000', '42P05']

const isMixedUp = (error: unknown): boolean => error instanceof DatabaseError && MIXED_UP.includes(error.code ?? '')

/**
 * Keeps track of whether a pool's connections go through a pooler.
 * @param isAllowed whether a pooler in transaction mode is wanted
 */
export function watchPooling(url: string, isAllowed: boolean) {
  let isPooled = false
  let isNew = false
  let pooling: Pooling = 'direct'
  return {
    /** Callers call this for each new connection. @param pid the result of `ASK_PID` */
    noteConnection(client: ClientBase, pid: number | undefined): void {
      isPooled = isBehindPooler(client, pid)
      isNew = true
    },

    /** Checks again if the last connection went through a pooler. Keeps the last result if that fails. */
    async find(): Promise<Pooling> {
      if (!isPooled) pooling = 'direct'
      // Under load, this check would wait for connections of the pooler. A pooler that restarts ends ours.
      else if (isNew || !isAllowed || pooling === 'mixed') {
        isNew = false
        pooling = await findPooling(url).catch(() => {
          isNew = true
          return pooling
        })
      }
      return pooling
    }
  }
}
