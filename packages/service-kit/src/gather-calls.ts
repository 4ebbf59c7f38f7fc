/** In flight at once: while one is answered, the next gathers. */
const STATEMENTS = 2
/**
 * One that takes longer no longer counts: a row that somebody keeps locked, or a store that is out of reach, would otherwise
 * hold up all who come after it, and let them pile up. From then on the limits of the connections hold.
 */
const SLOW_MS = 50

type Waiting<Asked, Answer> = {
  asked: Asked
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * Lets requests that are served at the same time share one statement: most of what a small one costs is its way to Postgres
 * and back. A call that comes alone leaves in the same turn of the event loop, and shares with nobody.
 * @param ask hands back one answer for each that was asked, in the same order
 * @param largestBatch calls in one statement at most
 * @param onBatch hears how many share each statement; it must not throw
 */
export function gatherCalls<Asked, Answer>(
  ask: (batch: readonly Asked[]) => Promise<readonly Answer[]>,
  largestBatch = 128,
  onBatch?: (size: number) => void
): (asked: Asked) => Promise<Answer> {
  let waiting: Waiting<Asked, Answer>[] = []
  let inFlight = 0
  let planned = false

  function plan(): void {
    if (planned || inFlight >= STATEMENTS || waiting.length === 0) return
    planned = true
    setImmediate(send)
  }

  function send(): void {
    planned = false
    const batch = waiting.slice(0, largestBatch)
    waiting = waiting.slice(largestBatch)
    inFlight += 1
    onBatch?.(batch.length)
    let isCounted = true
    const makeRoom = () => {
      if (!isCounted) return
      isCounted = false
      inFlight -= 1
      plan()
    }
    const slow = setTimeout(makeRoom, SLOW_MS)
    void settle(batch).then(() => {
      clearTimeout(slow)
      makeRoom()
    })
    plan()
  }

  async function settle(batch: readonly Waiting<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await ask(batch.map(({ asked }) => asked))
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject })
      plan()
    })
}
