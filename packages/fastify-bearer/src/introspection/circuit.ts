/** One call that was let through; its end must be told. */
export type Attempt = { succeeded(): void; failed(now: number): void }

export type Circuit = {
  /** @returns undefined while the other side is left alone. @param now milliseconds of a monotonic clock */
  begin(now: number): Attempt | undefined
}

const FAILURES_IN_A_ROW = 5
const FIRST_REST_MS = 250
const LONGEST_REST_MS = 2_000

/**
 * Leaves a server alone that does not answer: after five failures in a row calls fail at once, and after a rest one
 * single call tries whether it is back. Each failed trial doubles the rest, up to two seconds, so that a server that
 * comes back is neither missed for long nor met by everybody at once.
 */
export function createCircuit(): Circuit {
  let failures = 0
  let restMs = 0
  let restsUntil = 0
  let isTrying = false
  // Calls that began before the rest say nothing about what came after it.
  let rests = 0

  return {
    begin(now) {
      const isTrial = restMs > 0
      if (isTrial) {
        if (now < restsUntil || isTrying) return undefined
        isTrying = true
      }
      const begunAfter = rests
      return {
        succeeded() {
          failures = 0
          restMs = 0
          isTrying = false
        },
        failed(failedAt) {
          if (begunAfter !== rests) return
          failures += 1
          if (!isTrial && failures < FAILURES_IN_A_ROW) return
          restMs = restMs === 0 ? FIRST_REST_MS : Math.min(restMs * 2, LONGEST_REST_MS)
          restsUntil = failedAt + restMs
          isTrying = false
          rests += 1
        }
      }
    }
  }
}
