import { StoreUnavailable } from './store-unavailable.js'

/** Batches in flight at once: while one waits for its response, the next one collects calls. */
const IN_FLIGHT = 2
/**
 * A batch that takes longer does not count as in flight any more. Otherwise a locked row or an unavailable store would delay
 * every later call. Then only the limits of the connections apply.
 */
const SLOW_MS = 50
const LARGEST_BATCH = 128

export type BatchOptions = {
  /** Maximum number of calls in one batch; 128 by default. */
  largest?: number
  /** Receives the number of calls in each batch; must not throw. */
  onBatch?: ((size: number) => void) | undefined
  /**
   * Postgres refuses a whole statement when it refuses one value. With this option each call is then sent again alone. Never
   * after `StoreUnavailable`: the rows may have been written.
   */
  eachAloneWhenRefused?: boolean
}

type Call<Value, Result> = { value: Value; resolve(result: Result): void; reject(error: unknown): void }

/**
 * Sends the calls of concurrent requests in one batch. A call without concurrent calls is sent in the same turn of the event
 * loop. Gain: 32 concurrent introspections or exchanges cost one statement instead of 32 (`npm run bench:gates`).
 * @param send returns one result for each value, in the same order; a result that is an `Error` rejects its own call only
 */
export function batched<Value, Result>(
  send: (values: readonly Value[]) => Promise<readonly (Result | Error)[]>,
  options: BatchOptions = {}
): (value: Value) => Promise<Result> {
  return batchedByKey(() => undefined, send, options)
}

/**
 * Batches like `batched`, but for calls that can share a statement only if they have the same key, such as rows of the same
 * table. The calls of a batch are sent as one statement for each key; if one statement fails, the calls with other keys still
 * succeed.
 */
export function batchedByKey<Value, Result, Key>(
  keyOf: (value: Value) => Key,
  send: (values: readonly Value[], key: Key) => Promise<readonly (Result | Error)[]>,
  { largest = LARGEST_BATCH, onBatch, eachAloneWhenRefused = false }: BatchOptions = {}
): (value: Value) => Promise<Result> {
  async function settle(calls: readonly Call<Value, Result>[], key: Key): Promise<void> {
    try {
      const results = await send(
        calls.map(({ value }) => value),
        key
      )
      for (const [index, { resolve, reject }] of calls.entries()) {
        const result = results[index] as Result | Error
        if (result instanceof Error) reject(result)
        else resolve(result)
      }
    } catch (error) {
      if (eachAloneWhenRefused && calls.length > 1 && !(error instanceof StoreUnavailable)) {
        await Promise.all(calls.map((call) => settle([call], key)))
      } else {
        for (const { reject } of calls) reject(error)
      }
    }
  }

  async function settleBatch(batch: readonly Call<Value, Result>[]): Promise<void> {
    onBatch?.(batch.length)
    await Promise.all([...groupBy(batch, ({ value }) => keyOf(value))].map(([key, calls]) => settle(calls, key)))
  }

  const add = inBatches(settleBatch, largest)
  return (value) => new Promise((resolve, reject) => add({ value, resolve, reject }))
}

/** Collects items and processes them in batches, of which at most `IN_FLIGHT` run at once. @param run must not reject */
function inBatches<Item>(run: (batch: readonly Item[]) => Promise<void>, largest: number): (item: Item) => void {
  let waiting: Item[] = []
  let inFlight = 0
  let isPlanned = false

  function plan(): void {
    if (isPlanned || inFlight >= IN_FLIGHT || waiting.length === 0) return
    isPlanned = true
    setImmediate(start)
  }

  function start(): void {
    isPlanned = false
    const batch = waiting.slice(0, largest)
    waiting = waiting.slice(largest)
    inFlight += 1
    let isCounted = true
    const makeRoom = () => {
      if (!isCounted) return
      isCounted = false
      inFlight -= 1
      plan()
    }
    const slow = setTimeout(makeRoom, SLOW_MS)
    void run(batch).then(() => {
      clearTimeout(slow)
      makeRoom()
    })
    plan()
  }

  return (item) => {
    waiting.push(item)
    plan()
  }
}

/** Groups keep the order of their items. */
function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
