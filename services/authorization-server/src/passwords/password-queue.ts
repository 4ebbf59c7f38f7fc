import pLimit from 'p-limit'

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
   * @throws {PasswordQueueFull} when too many are waiting
   */
  run<Result>(hashing: () => Promise<Result>): Promise<Result>
  /** How it stands now, and how many it has refused so far. */
  state(): { running: number; waiting: number; refused: number }
}

/**
 * Lets few passwords be hashed at once and few wait. A hash takes a processor for tens of milliseconds and 19 MiB, and
 * the library's threads are those that file and name look-ups need as well; the rest of the server must not feel it.
 */
export function createPasswordQueue(bounds: { atOnce: number; waiting: number }): PasswordQueue {
  const limit = pLimit(bounds.atOnce)
  let refused = 0
  return {
    async run(hashing) {
      if (limit.pendingCount >= bounds.waiting) {
        refused += 1
        throw new PasswordQueueFull()
      }
      return limit(hashing)
    },
    state: () => ({ running: limit.activeCount, waiting: limit.pendingCount, refused })
  }
}
