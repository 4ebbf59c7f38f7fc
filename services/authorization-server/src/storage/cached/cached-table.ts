import { emptyMemory, type Found, finishLoad, lookUp, lookUpAll, nextLoad, noteChange } from './table-memory.js'

/** Reads the rows of these keys, or all of them, from Postgres. */
export type ReadRows<Row> = (keys: readonly string[] | 'all') => Promise<ReadonlyMap<string, Row>>

/** One table in memory, for as long as one LISTEN session lasts. */
export type RememberedTable<Row> = {
  find(key: string): Found<Row>
  /** @returns undefined where memory may not answer */
  all(): ReadonlyMap<string, Row> | undefined
  /** Without a key, all of the table. */
  change(key?: string): void
  stop(): void
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

/**
 * Reads all of the table now, and what changes from then on, one load after the other.
 * @param on.loaded each time that all of it is in memory
 * @param on.failed for the first of loads that fail in a row; they are tried again
 */
export function rememberTable<Row>(
  read: ReadRows<Row>,
  on: { loaded(): void; failed(error: unknown): void }
): RememberedTable<Row> {
  const memory = emptyMemory<Row>()
  let isLoading = false
  let isStopped = false
  let retry: NodeJS.Timeout | undefined
  let retryMs = FIRST_RETRY_MS

  async function load(): Promise<void> {
    // Whoever loads takes what comes meanwhile as well.
    if (isLoading) return
    isLoading = true
    try {
      for (let next = nextLoad(memory); next !== undefined && !isStopped; next = nextLoad(memory)) {
        finishLoad(memory, next, await read(next.keys))
        retryMs = FIRST_RETRY_MS
        if (next.keys === 'all' && memory.rows !== undefined && !isStopped) on.loaded()
      }
    } catch (error) {
      if (isStopped) return
      if (retryMs === FIRST_RETRY_MS) on.failed(error)
      clearTimeout(retry)
      retry = setTimeout(load, retryMs)
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
    } finally {
      isLoading = false
    }
  }

  void load()
  return {
    find: (key) => lookUp(memory, key),
    all: () => lookUpAll(memory),
    change(key) {
      noteChange(memory, key)
      void load()
    },
    stop() {
      isStopped = true
      clearTimeout(retry)
    }
  }
}
