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
}

/**
 * Lets few passwords be hashed at once and few wait. A hash takes a processor for tens of milliseconds and 19 MiB, and
 * the library's threads are those that file and name look-ups need as well; the rest of the server must not feel it.
 */
export function createPasswordQueue(bounds: { atOnce: number; waiting: number }): PasswordQueue {
  const limit = pLimit(bounds.atOnce)
  return {
    async run(hashing) {
      if (limit.pendingCount >= bounds.waiting) throw new PasswordQueueFull()
      return limit(hashing)
    }
  }
}
