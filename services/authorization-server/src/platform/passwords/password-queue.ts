import { createHashingOrder, type HashingTurn } from './hashing-order.js'

/** Thrown instead of keeping yet another person waiting; answered with 503 and `Retry-After`. */
export class PasswordQueueFull extends Error {
  constructor() {
    super('too many passwords are waiting to be checked')
    this.name = 'PasswordQueueFull'
  }
}

export type PasswordQueue = {
  /**
   * Runs a password's hashing when it is its turn.
   * @param turn by default that of an operator, whose key was checked before
   * @throws {PasswordQueueFull} when it would wait too long, or too many are waiting
   */
  run<Result>(hashing: () => Promise<Result>, turn?: HashingTurn): Promise<Result>
  /** How it stands now, and how many it has refused so far. */
  state(): { running: number; waiting: number; refused: number }
}

/**
 * @property atOnce hashes that run at the same time
 * @property waiting known browsers, and as many others, that may wait: a bound of memory; the first of a network may wait while
 *   there are fewer than twice as many
 * @property milliseconds that a hash may have to wait, as expected from those before it and from how long hashes take
 */
export type PasswordQueueBounds = { atOnce: number; waiting: number; milliseconds: number }

const OPERATOR: HashingTurn = { network: 'operator', group: 'operator', isKnown: true }

/** What a hash is taken to need before one was measured; and how much of the mean each new one is. */
const FIRST_MEAN_MS = 50
const WEIGHT = 1 / 16

/**
 * Lets few passwords be hashed at once and few wait. A hash takes a processor for tens of milliseconds and 19 MiB, and
 * the library's threads are those that file and name look-ups need as well; the rest of the server must not feel it.
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
