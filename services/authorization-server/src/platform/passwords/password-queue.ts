import type { HashCost } from './hash-cost.js'
import { createHashingOrder, type HashingOrigin } from './hashing-order.js'

/** A password could not be hashed in time: response 503 with `Retry-After`. */
export class PasswordQueueFull extends Error {
  constructor() {
    super('too many passwords are waiting to be checked')
    this.name = 'PasswordQueueFull'
  }
}

/** Work with a password, and what it takes (password.ts creates it). */
export type Hashing<Result> = { cost: HashCost; work: () => Promise<Result> }

/**
 * @property deadline on the clock of `performance.now()`; the job ends then
 * @property client aborted when the client has gone; the job ends if it has not started
 */
export type HashingTurn = HashingOrigin & { deadline: number; client: AbortSignal }

export type PasswordQueue = {
  /**
   * Hashes a password when it is its turn.
   * @param turn by default that of an operator, whose key was verified before
   * @throws {PasswordQueueFull} if the deadline passes, too many are waiting, the client has gone, or the memory never suffices
   */
  run<Result>(hashing: Hashing<Result>, turn?: HashingTurn): Promise<Result>
  /** The deadline of a request that arrives now. */
  deadline(): number
  /** The current numbers, and how many were refused since the start. */
  state(): { running: number; waiting: number; refused: number }
}

/**
 * @property atOnce hashes that run at the same time
 * @property bytes of memory that they take together
 * @property waiting how many known browsers, and how many others, may wait; limits memory. The first job of a network may wait
 *   while there are fewer than twice as many
 * @property milliseconds from the arrival of a request to its deadline
 */
export type PasswordQueueBounds = { atOnce: number; bytes: number; waiting: number; milliseconds: number }

/**
 * How much slower than its nominal cost a hash is: the weight of a measurement in the mean, and the bounds of one measurement. With
 * a higher bound, one interruption of the process could make all hashes look too slow to start, and nothing would correct it.
 */
const SLOWNESS = { weight: 1 / 16, min: 0.25, max: 4 }

const OPERATOR: HashingOrigin = { network: 'operator', group: 'operator', account: 'operator', isKnown: true }
const STAYS = new AbortController().signal

/**
 * @property start does the work, and calls `release` before the caller gets the result
 * @property end refuses the job, wherever it is
 */
type Job = {
  cost: HashCost
  deadline: number
  start: (release: () => void) => void
  end: () => void
  hasEnded: () => boolean
}

/**
 * Limits how many passwords are hashed at once, the memory that this takes, and how many wait. A hash occupies a processor for
 * milliseconds to seconds, up to 256 MiB of memory, and a thread that files and DNS need as well (docs/performance.md has the
 * effect on introspection). A job is not started if it would probably end after its deadline.
 */
export function createPasswordQueue(
  bounds: PasswordQueueBounds,
  monotonicNow = () => performance.now()
): PasswordQueue {
  const order = createHashingOrder<Job>()
  let [running, bytes, refused, slowness] = [0, 0, 0, 1]
  /** The next job; it waits for memory. */
  let head: Job | undefined

  function startNext(): void {
    while (running < bounds.atOnce) {
      head = head?.hasEnded() === false ? head : order.next()
      if (head === undefined || bytes + head.cost.bytes > bounds.bytes) return
      const job = head
      head = undefined
      if (monotonicNow() + job.cost.milliseconds * slowness > job.deadline) job.end()
      else runNow(job)
    }
  }

  function runNow({ cost, start }: Job): void {
    running += 1
    bytes += cost.bytes
    const before = monotonicNow()
    start(() => {
      const ratio = (monotonicNow() - before) / Math.max(1, cost.milliseconds)
      slowness += (Math.min(SLOWNESS.max, Math.max(SLOWNESS.min, ratio)) - slowness) * SLOWNESS.weight
      running -= 1
      bytes -= cost.bytes
      startNext()
    })
  }

  function isRefused({ bytes: needed }: HashCost, turn: HashingTurn): boolean {
    // A full queue still takes the first job of a network, up to twice the bound.
    const most = bounds.waiting * (order.isFirstOfNetwork(turn) ? 2 : 1)
    return needed > bounds.bytes || turn.client.aborted || order.waitingLike(turn) >= most
  }

  const deadline = () => monotonicNow() + bounds.milliseconds

  return {
    deadline,

    run(hashing, turn = { ...OPERATOR, deadline: deadline(), client: STAYS }) {
      if (isRefused(hashing.cost, turn)) {
        refused += 1
        return Promise.reject(new PasswordQueueFull())
      }
      const { job, result } = createJob(hashing, turn, turn.deadline - monotonicNow(), () => {
        refused += 1
        order.remove(turn, job)
        if (head === job) startNext()
      })
      order.add(turn, job, job.cost.milliseconds)
      startNext()
      return result
    },
    state: () => ({ running, waiting: order.waiting() + (head?.hasEnded() === false ? 1 : 0), refused })
  }
}

/** A job that ends in `milliseconds`, or with its client if it has not started. @param onEnd called when it is refused */
function createJob<Result>(
  { cost, work }: Hashing<Result>,
  { client, deadline }: HashingTurn,
  milliseconds: number,
  onEnd: () => void
): { job: Job; result: Promise<Result> } {
  const { promise: result, resolve, reject } = withResolvers<Result>()
  let hasEnded = false
  const end = () => {
    hasEnded = true
    client.removeEventListener('abort', end)
    clearTimeout(timer)
    reject(new PasswordQueueFull())
    onEnd()
  }
  const timer = setTimeout(end, Math.max(0, milliseconds))
  client.addEventListener('abort', end, { once: true })
  // The work of a job that has started cannot be stopped; its client gets the response at the deadline.
  const start = (release: () => void) => {
    client.removeEventListener('abort', end)
    work()
      .finally(() => {
        clearTimeout(timer)
        release()
      })
      .then(resolve, reject)
  }
  return { job: { cost, deadline, start, end, hasEnded: () => hasEnded }, result }
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers<Result>() {
  let [resolve, reject]: [(result: Result) => void, (error: unknown) => void] = [() => {}, () => {}]
  const promise = new Promise<Result>((...functions) => {
    ;[resolve, reject] = functions
  })
  return { promise, resolve, reject }
}
