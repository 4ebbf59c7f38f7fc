/**
 * The rules of keeping a table in memory: what may be answered from it, what a change takes away, and what a load may
 * store. Pure: the caller brings the changes in the order of their commits, and carries out the loads.
 */
export type TableMemory<Row> = {
  /** Undefined until all of the table has been read once since listening began. */
  rows: Map<string, Row> | undefined
  /** Rows that only Postgres knows, each with the number of its last change. */
  stale: Map<string, number>
  /** How many changes have been heard. */
  changes: number
  /** The number of the last change that may concern any row. */
  changedAsAWhole: number
}

/** What is to be read: all, or these rows. It may store nothing that has changed since number `begunAt`. */
export type Load = { keys: 'all' | readonly string[]; begunAt: number }

/** `row` is undefined for a key that no row has. */
export type Found<Row> = { isKnown: true; row: Row | undefined } | { isKnown: false }

/** Rows in one load: those that many changes at once leave stale are read in few statements. */
const LARGEST_LOAD = 1_000

export function emptyMemory<Row>(): TableMemory<Row> {
  return { rows: undefined, stale: new Map(), changes: 0, changedAsAWhole: 0 }
}

/** Takes away one row, or, without a key, all of them, until a load that begins after this has brought them back. */
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
 * Stores what a load has read, save what changed after it began: nobody knows whether it read the row before that change or
 * after it.
 * @param read every row that there was of those to be read
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

/** One row, where memory may answer for it. That a row is not there is known as well as that it is. */
export function lookUp<Row>({ rows, stale }: TableMemory<Row>, key: string): Found<Row> {
  return rows === undefined || stale.has(key) ? { isKnown: false } : { isKnown: true, row: rows.get(key) }
}

/** All rows in the order of the load, where memory may answer for every one of them. */
export function lookUpAll<Row>({ rows, stale }: TableMemory<Row>): ReadonlyMap<string, Row> | undefined {
  return stale.size === 0 ? rows : undefined
}

/** What an announcement of `announce_registry_change` in the migrations says; undefined when it may be anything. */
export function readChange(payload: string): { table: string; key: string | undefined } | undefined {
  try {
    const { table, key } = Object(JSON.parse(payload)) as Record<string, unknown>
    if (typeof table !== 'string' || (key !== undefined && typeof key !== 'string')) return undefined
    return { table, key }
  } catch {
    return undefined
  }
}
