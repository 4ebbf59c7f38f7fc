import { Client, type ClientBase } from 'pg'
import { postgresUrls } from './postgres-url.js'

/** `direct`: Postgres itself, or a plain proxy. `session`, `shared`: a pooler; `shared` in transaction or statement mode. */
export type Pooling = 'direct' | 'session' | 'shared'

/** For a new connection, after its settings. */
export const ASK_PID = 'select pg_backend_pid() as pid'

/** Whether a pooler answers in Postgres's place: it hands out a cancellation key of its own. */
export function isBehindPooler(client: ClientBase, pid: number | undefined): boolean {
  const { processID } = client as unknown as { processID: number | null }
  return pid !== processID
}

// In no regular alternation: a pooler that hands out two connections in turn must not look like one for each client.
const ORDER = [0, 0, 1, 0, 1, 1, 0, 0, 1, 1] as const

const LIMITS = { connectionTimeoutMillis: 1_500, query_timeout: 1_500 }

/**
 * Whether two connections that are open at the same time each keep a connection of Postgres to themselves, as far as both can
 * be asked. @throws when they cannot
 */
export async function findPooling(url: string): Promise<Pooling> {
  const [one = url] = postgresUrls(url)
  const clients = [new Client({ ...LIMITS, connectionString: one }), new Client({ ...LIMITS, connectionString: one })]
  const seen = [new Set<number>(), new Set<number>()] as const
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
      if (pid !== undefined) seen[index].add(pid)
      isPooled ||= isBehindPooler(client, pid)
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
  if (!isPooled) return 'direct'
  const isShared = seen.some(({ size }) => size > 1) || [...seen[0]].some((pid) => seen[1].has(pid))
  return isShared ? 'shared' : 'session'
}

/** What stands between the connections of a pool and Postgres, as far as it is known. */
export function watchPooling(url: string) {
  let isPooled = false
  let pooling: Pooling = 'direct'
  return {
    /** For each new connection. @param pid the process that answered it */
    noteConnection(client: ClientBase, pid: number | undefined): void {
      isPooled = isBehindPooler(client, pid)
    },

    /** Looks again, if the last connection came from a pooler. One that cannot be examined now is what it was before. */
    async find(): Promise<Pooling> {
      pooling = isPooled ? await findPooling(url).catch(() => pooling) : 'direct'
      return pooling
    }
  }
}
