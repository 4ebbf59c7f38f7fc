import { StoreUnavailable } from './store-unavailable.js'

/** Batches under way at once: while one is answered, the next one fills. */
const UNDER_WAY = 2
/**
 * A batch that takes longer no longer counts as under way. A locked row or a store out of reach would otherwise hold up every
 * later call. From then on the limits of the connections hold.
 */
const SLOW_MS = 50
const LARGEST_BATCH = 128

export type BatchOptions = {
  /** Calls in one batch at most; 128 by default. */
  largest?: number
  /** Receives the number of calls in each batch; must not throw. */
  onBatch?: ((size: number) => void) | undefined
  /**
   * Postgres refuses a statement as a whole when it refuses one value, so each call is then sent again by itself. Nothing is sent again after `StoreUnavailable`: the rows may have been written.
   */
  eachAloneWhenRefused?: boolean
}

type Call<Value, Answer> = { value: Value; resolve(answer: Answer): void; reject(error: unknown): void }

/**
 * Sends the calls of concurrent requests in one batch: most of what a small statement costs is its way to Postgres and back.
 * A call that comes alone leaves in the same turn of the event loop.
 * @param ask gives one answer for each value, in the same order; an answer that is an `Error` rejects its own call only
 */
export function batched<Value, Answer>(
  ask: (values: readonly Value[]) => Promise<readonly (Answer | Error)[]>,
  { largest = LARGEST_BATCH, onBatch, eachAloneWhenRefused = false }: BatchOptions = {}
): (value: Value) => Promise<Answer> {
  let waiting: Call<Value, Answer>[] = []
  let underWay = 0
  let isPlanned = false

  function plan(): void {
    if (isPlanned || underWay >= UNDER_WAY || waiting.length === 0) return
    isPlanned = true
    setImmediate(send)
  }

  function send(): void {
    isPlanned = false
    const batch = waiting.slice(0, largest)
    waiting = waiting.slice(largest)
    underWay += 1
    onBatch?.(batch.length)
    let isCounted = true
    const makeRoom = () => {
      if (!isCounted) return
      isCounted = false
      underWay -= 1
      plan()
    }
    const slow = setTimeout(makeRoom, SLOW_MS)
    void settle(batch).then(() => {
      clearTimeout(slow)
      makeRoom()
    })
    plan()
  }

  async function settle(batch: readonly Call<Value, Answer>[]): Promise<void> {
    try {
      const answers = await ask(batch.map(({ value }) => value))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index] as Answer | Error
        if (answer instanceof Error) reject(answer)
        else resolve(answer)
      }
    } catch (error) {
      if (eachAloneWhenRefused && batch.length > 1 && !(error instanceof StoreUnavailable)) {
        await Promise.all(batch.map((call) => settle([call])))
      } else {
        for (const { reject } of batch) reject(error)
      }
    }
  }

  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject })
      plan()
    })
}
