/** In flight at once: while one is answered, the next gathers. */
const STATEMENTS = 2

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
 */
export function gatherCalls<Asked, Answer>(
  ask: (batch: readonly Asked[]) => Promise<readonly Answer[]>,
  largestBatch = 128
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
    settle(batch).finally(() => {
      inFlight -= 1
      plan()
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
