import { emptyMemory, type Found, finishLoad, lookUp, lookUpAll, nextLoad, noteChange } from './table-memory.js'

/** Reads the rows with these keys, or all rows, from Postgres. */
export type ReadRows<Row> = (keys: readonly string[] | 'all') => Promise<ReadonlyMap<string, Row>>

/** Lookups in the cache. */
export type CachedRows<Row> = {
  find(key: string): Found<Row>
  /** @returns undefined while a row is not cached */
  all(): ReadonlyMap<string, Row> | undefined
}

/** The cache of one table, for as long as one LISTEN connection lasts. */
export type CachedTable<Row> = CachedRows<Row> & {
  /** Removes the row, or without a key all rows, and loads it again. */
  invalidate(key?: string): void
  stop(): void
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

/**
 * Loads all rows now, and later those that were invalidated; one load at a time.
 * @param on.loaded is called each time all rows have been loaded
 * @param on.failed is called for the first of consecutive loads that fail; failed loads are repeated
 */
export function cacheTable<Row>(
  read: ReadRows<Row>,
  on: { loaded(): void; failed(error: unknown): void }
): CachedTable<Row> {
  const memory = emptyMemory<Row>()
  let isLoading = false
  let isStopped = false
  let retry: NodeJS.Timeout | undefined
  let retryMs = FIRST_RETRY_MS

  async function load(): Promise<void> {
    // The running load also reads the rows that are invalidated meanwhile.
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
    invalidate(key) {
      noteChange(memory, key)
      void load()
    },
    stop() {
      isStopped = true
      clearTimeout(retry)
    }
  }
}
