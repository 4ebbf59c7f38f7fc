import { setTimeout as wait } from 'node:timers/promises'

export type Drain = {
  /** Aborted once the process is about to stop: it is not ready any more, and asks for no kept connections. */
  readonly draining: AbortSignal
  /** Begins it, and resolves when the listeners may close. */
  drain(): Promise<void>
}

/**
 * The time between the order to stop and the end of the listeners, in which a balancer learns that it should send its
 * requests elsewhere. All that comes meanwhile is served.
 */
export function createDrain(delaySeconds: number): Drain {
  const order = new AbortController()
  return {
    draining: order.signal,
    async drain() {
      order.abort()
      if (delaySeconds > 0) await wait(delaySeconds * 1_000)
    }
  }
}
