import { setTimeout as wait } from 'node:timers/promises'

export type Drain = {
  /** Aborted when the drain begins: readiness fails, and responses close their connections. */
  readonly draining: AbortSignal
  /** Begins the drain, and resolves when the listeners may close. */
  drain(): Promise<void>
}

/**
 * The time from the stop signal to the end of the listeners, so that a load balancer can notice it. Requests are still
 * served.
 */
export function createDrain(delaySeconds: number): Drain {
  const stop = new AbortController()
  return {
    draining: stop.signal,
    async drain() {
      stop.abort()
      if (delaySeconds > 0) await wait(delaySeconds * 1_000)
    }
  }
}
