/**
 * The rules of the cache of one table: which rows may be used, what a change removes, and what a load may store. Pure: the
 * caller passes the changes in the order of their commits and performs the loads.
 */
export type TableMemory<Row> = {
  /** Undefined until all rows have been loaded once since the LISTEN connection began. */
  rows: Map<string, Row> | undefined
  /** Rows that must be read from Postgres, each with the number of its last change. */
  stale: Map<string, number>
  /** Number of changes received. */
  changes: number
  /** Number of the last change that may concern any row. */
  changedAsAWhole: number
}

/** A read of all rows or of these. It may store no row that has changed since change number `begunAt`. */
export type Load = { keys: 'all' | readonly string[]; begunAt: number }

/** `row` is undefined if there is no row with the key; the cache knows that as well. */
export type Found<Row> = { isKnown: true; row: Row | undefined } | { isKnown: false }

/** Maximum number of rows in one load. After many changes at once, a few statements read all stale rows. */
const LARGEST_LOAD = 1_000

export function emptyMemory<Row>(): TableMemory<Row> {
  return { rows: undefined, stale: new Map(), changes: 0, changedAsAWhole: 0 }
}

/** Removes one row, or without a key all rows, until a load that begins after this has read it again. */
export function noteChange(memory: TableMemory<unknown>, key?: string): void {
  memory.changes += 1
  if (key === undefined) {
    memory.changedAsAWhole = memory.changes
    memory.rows = undefined
    memory.stale.clear()
  } else {
    memory.stale.set(key, memory.changes)
    memory.rows?.delete(key)
  }
}

/** @returns undefined when there is nothing to read */
export function nextLoad({ rows, stale, changes }: TableMemory<unknown>): Load | undefined {
  if (rows === undefined) return { keys: 'all', begunAt: changes }
  if (stale.size === 0) return undefined
  return { keys: [...stale.keys()].slice(0, LARGEST_LOAD), begunAt: changes }
}

/**
 * Stores the rows of a load, except those that changed after it began: the load may have read them before or after that change.
 * @param read all existing rows with the keys of the load
 */
export function finishLoad<Row>(memory: TableMemory<Row>, load: Load, read: ReadonlyMap<string, Row>): void {
  if (load.keys === 'all') {
    if (memory.rows !== undefined || memory.changedAsAWhole > load.begunAt) return
    memory.rows = new Map(read)
    for (const [key, change] of memory.stale) {
      if (change > load.begunAt) memory.rows.delete(key)
      else memory.stale.delete(key)
    }
    return
  }
  for (const key of load.keys) {
    const change = memory.stale.get(key)
    if (memory.rows === undefined || change === undefined || change > load.begunAt) continue
    const row = read.get(key)
    if (row !== undefined) memory.rows.set(key, row)
    memory.stale.delete(key)
  }
}

export function lookUp<Row>({ rows, stale }: TableMemory<Row>, key: string): Found<Row> {
  return rows === undefined || stale.has(key) ? { isKnown: false } : { isKnown: true, row: rows.get(key) }
}

/** All rows in the order of the load; undefined while one of them is not cached. */
export function lookUpAll<Row>({ rows, stale }: TableMemory<Row>): ReadonlyMap<string, Row> | undefined {
  return stale.size === 0 ? rows : undefined
}

/** Parses a notification of `announce_registry_change` (migrations); undefined if it cannot be read, so anything may have changed. */
export function readChange(payload: string): { table: string; key: string | undefined } | undefined {
  try {
    const { table, key } = Object(JSON.parse(payload)) as Record<string, unknown>
    if (typeof table !== 'string' || (key !== undefined && typeof key !== 'string')) return undefined
    return { table, key }
  } catch {
    return undefined
  }
}
