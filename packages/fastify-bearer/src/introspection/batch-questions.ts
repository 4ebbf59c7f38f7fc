/** A batch that takes longer than this holds up nobody who comes after it. */
const SLOW_MS = 20
const LARGEST_BATCH = 64

type Question<Asked, Answer> = {
  asked: Asked
  since: number
  resolve(answer: Answer | Promise<Answer>): void
  reject(error: unknown): void
}

/**
 * Lets those who ask at the same time share a request. A question that comes alone leaves in the same turn of the event loop.
 * @param ask hands back one answer for each that was asked, in the same order; a rejection is that of one question alone
 * @param limit how long a question may wait for others to be answered, and what it fails with after that
 */
export function batchQuestions<Asked, Answer>(
  ask: (batch: readonly Asked[]) => Promise<readonly (Answer | Promise<Answer>)[]>,
  limit: { milliseconds: number; failure: () => Error }
): (asked: Asked) => Promise<Answer> {
  const waiting: Question<Asked, Answer>[] = []
  // While one batch is answered, the next gathers: with two, each would have half as many, and cost both servers more.
  let isUnderWay = false
  let isPlanned = false

  function plan(): void {
    if (isPlanned || isUnderWay || waiting.length === 0) return
    isPlanned = true
    setImmediate(send)
  }

  function send(): void {
    isPlanned = false
    refuseOverdue()
    const batch = waiting.splice(0, LARGEST_BATCH)
    if (batch.length === 0) return
    isUnderWay = true
    let isSlow = false
    const makeRoom = () => {
      isUnderWay = false
      plan()
    }
    const slow = setTimeout(() => {
      isSlow = true
      makeRoom()
    }, SLOW_MS)
    void settle(batch).then(() => {
      clearTimeout(slow)
      if (!isSlow) makeRoom()
    })
  }

  /** More come than are answered: those who waited in vain hear it, and make room for who came last. */
  function refuseOverdue(): void {
    const oldest = performance.now() - limit.milliseconds
    const inTime = waiting.findIndex(({ since }) => since >= oldest)
    const overdue = waiting.splice(0, inTime === -1 ? waiting.length : inTime)
    for (const { reject } of overdue) reject(limit.failure())
  }

  async function settle(batch: readonly Question<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await ask(batch.map(({ asked }) => asked))
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, since: performance.now(), resolve, reject })
      plan()
    })
}
