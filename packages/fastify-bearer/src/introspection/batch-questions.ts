/** The next batch does not wait for one that takes longer than this. */
const SLOW_MS = 20
const MAX_BATCH = 64

type Waiting<Question, Answer> = {
  question: Question
  since: number
  resolve(answer: Answer | Promise<Answer>): void
  reject(error: unknown): void
}

/**
 * Lets concurrent questions share a request. A question without others is sent in the same turn of the event loop.
 * @param ask returns one answer for each question, in the same order; a rejected one concerns that question only
 * @param limit the time that a question may wait to be sent, and the error after that
 */
export function batchQuestions<Question, Answer>(
  ask: (batch: readonly Question[]) => Promise<readonly (Answer | Promise<Answer>)[]>,
  limit: { milliseconds: number; failure: () => Error }
): (question: Question) => Promise<Answer> {
  const waiting: Waiting<Question, Answer>[] = []
  // One batch at a time. Two would have half the size each, and cost both servers more.
  let isInProgress = false
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || isInProgress || waiting.length === 0) return
    isScheduled = true
    setImmediate(send)
  }

  function send(): void {
    isScheduled = false
    rejectOverdue()
    const batch = waiting.splice(0, MAX_BATCH)
    if (batch.length === 0) return
    isInProgress = true
    let isSlow = false
    const allowNext = () => {
      isInProgress = false
      schedule()
    }
    const slow = setTimeout(() => {
      isSlow = true
      allowNext()
    }, SLOW_MS)
    void settle(batch).then(() => {
      clearTimeout(slow)
      if (!isSlow) allowNext()
    })
  }

  /** Under overload, the oldest questions fail, so that newer ones are answered within their time limit. */
  function rejectOverdue(): void {
    const oldest = performance.now() - limit.milliseconds
    const firstInTime = waiting.findIndex(({ since }) => since >= oldest)
    const overdue = waiting.splice(0, firstInTime === -1 ? waiting.length : firstInTime)
    for (const { reject } of overdue) reject(limit.failure())
  }

  async function settle(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await ask(batch.map(({ question }) => question))
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, since: performance.now(), resolve, reject })
      schedule()
    })
}
