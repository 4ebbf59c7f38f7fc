import { Client, type ClientBase } from 'pg'
import { postgresUrls } from './postgres-url.js'

/** `direct`: no pooler. `session`: a pooler in session mode. `shared`: a pooler in transaction or statement mode. */
export type Pooling = 'direct' | 'session' | 'shared'

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

/**
 * Opens two connections and checks whether each keeps its own Postgres process. @throws when it cannot connect or query
 */
export async function findPooling(url: string): Promise<Pooling> {
  const [connectionString = url] = postgresUrls(url)
  const clients = [new Client({ ...LIMITS, connectionString }), new Client({ ...LIMITS, connectionString })]
  const pids = [new Set<number>(), new Set<number>()] as const
  let isPooled = false
  try {
    for (const client of clients) {
      client.on('error', () => {})
      await client.connect()
    }
    for (const index of ORDER) {
      const client = clients[index] as Client
      const { rows } = await client.query<{ pid: number }>(ASK_PID)
      const pid = rows[0]?.pid
      if (pid !== undefined) pids[index].add(pid)
      isPooled ||= isBehindPooler(client, pid)
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
  if (!isPooled) return 'direct'
  const isShared = pids.some(({ size }) => size > 1) || [...pids[0]].some((pid) => pids[1].has(pid))
  return isShared ? 'shared' : 'session'
}

/** Keeps track of whether a pool's connections go through a pooler. */
export function watchPooling(url: string) {
  let isPooled = false
  let pooling: Pooling = 'direct'
  return {
    /** To be called for each new connection. @param pid the result of `ASK_PID` */
    noteConnection(client: ClientBase, pid: number | undefined): void {
      isPooled = isBehindPooler(client, pid)
    },

    /** Checks again if the last connection went through a pooler. Keeps the last result if that fails. */
    async find(): Promise<Pooling> {
      pooling = isPooled ? await findPooling(url).catch(() => pooling) : 'direct'
      return pooling
    }
  }
}
