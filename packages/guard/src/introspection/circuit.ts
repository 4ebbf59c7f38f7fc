/** One call that the circuit allowed. The caller must report its end. */
type Attempt = { succeeded(): void; failed(now: number): void }

export type Circuit = {
  /** @returns undefined while the circuit is open. @param now milliseconds of a monotonic clock */
  begin(now: number): Attempt | undefined
}

const MAX_FAILURES = 5
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 2_000

/**
 * A circuit breaker. After five failures in a row, calls fail at once; after a pause, a single trial call is allowed.
 * Each failed trial doubles the pause, up to two seconds, so that a server that recovers is noticed soon and does not
 * receive all calls at once.
 */
export function createCircuit(): Circuit {
  let failures = 0
  let pauseMs = 0
  let pausedUntil = 0
  let isTrialInProgress = false
  // Counts pauses. A failed call that began before the latest pause has already been counted.
  let pauses = 0

  return {
    begin(now) {
      const isTrial = pauseMs > 0
      if (isTrial) {
        if (now < pausedUntil || isTrialInProgress) return undefined
        isTrialInProgress = true
      }
      const pausesAtBegin = pauses
      return {
        succeeded() {
          failures = 0
          pauseMs = 0
          isTrialInProgress = false
        },
        failed(failedAt) {
          if (pausesAtBegin !== pauses) return
          failures += 1
          if (!isTrial && failures < MAX_FAILURES) return
          pauseMs = pauseMs === 0 ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS)
          pausedUntil = failedAt + pauseMs
          isTrialInProgress = false
          pauses += 1
        }
      }
    }
  }
}
