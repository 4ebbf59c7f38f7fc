import { createHashingOrder, type HashingTurn } from './hashing-order.js'

/** Too many passwords are waiting: response 503 with `Retry-After`. */
export class PasswordQueueFull extends Error {
  constructor() {
    super('too many passwords are waiting to be checked')
    this.name = 'PasswordQueueFull'
  }
}

export type PasswordQueue = {
  /**
   * Hashes a password when it is its turn.
   * @param turn by default that of an operator, whose key was verified before
   * @throws {PasswordQueueFull} if it would wait too long, or too many are waiting
   */
  run<Result>(hashing: () => Promise<Result>, turn?: HashingTurn): Promise<Result>
  /** The current numbers, and how many were refused since the start. */
  state(): { running: number; waiting: number; refused: number }
}

/**
 * @property atOnce hashes that run at the same time
 * @property waiting how many known browsers, and how many others, may wait; limits memory. The first job of a network may wait
 *   while there are fewer than twice as many
 * @property milliseconds the longest expected wait, from the number of jobs before and the mean time of a hash
 */
export type PasswordQueueBounds = { atOnce: number; waiting: number; milliseconds: number }

const OPERATOR: HashingTurn = { network: 'operator', group: 'operator', isKnown: true }

/** The assumed time of a hash before the first measurement, and the weight of each new measurement in the mean. */
const FIRST_MEAN_MS = 50
const WEIGHT = 1 / 16

/**
 * Limits how many passwords are hashed at once and how many wait. A hash occupies a processor for tens of milliseconds, 19 MiB of
 * memory, and a thread that files and DNS need as well (docs/performance.md has the effect on introspection).
 */
export function createPasswordQueue(
  bounds: PasswordQueueBounds,
  monotonicNow = () => performance.now()
): PasswordQueue {
  const order = createHashingOrder<() => Promise<void>>()
  let [running, refused, meanMs] = [0, 0, FIRST_MEAN_MS]

  function isTooLate(turn: HashingTurn): boolean {
    const expectedMs = (Math.max(0, order.ahead(turn) + running - bounds.atOnce + 1) * meanMs) / bounds.atOnce
    // A full queue still takes the first job of a network, up to twice the bound.
    const most = bounds.waiting * (order.isFirstOfNetwork(turn) ? 2 : 1)
    return order.waitingLike(turn) >= most || expectedMs > bounds.milliseconds
  }

  function startNext(): void {
    while (running < bounds.atOnce) {
      const job = order.next()
      if (job === undefined) return
      running += 1
      void job()
    }
  }

  async function hashNow<Result>(hashing: () => Promise<Result>): Promise<Result> {
    const start = monotonicNow()
    try {
      return await hashing()
    } finally {
      meanMs += (monotonicNow() - start - meanMs) * WEIGHT
      running -= 1
      startNext()
    }
  }

  return {
    run(hashing, turn = OPERATOR) {
      if (isTooLate(turn)) {
        refused += 1
        return Promise.reject(new PasswordQueueFull())
      }
      return new Promise((resolve, reject) => {
        order.add(turn, () => hashNow(hashing).then(resolve, reject))
        startNext()
      })
    },
    state: () => ({ running, waiting: order.waiting(), refused })
  }
}
