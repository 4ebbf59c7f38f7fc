import { withTimeLimit } from '@valetkey/service-kit'

export type Latest<Value> = { value: Value; readAt: Date }

type Options = { freshForMs: number; waitAtMostMs: number; now: () => Date }

/**
 * Reads a value again if it is no longer fresh. Only one read runs at a time, however many callers wait, so that many
 * requests cannot multiply the work.
 * @returns the latest value, which is old if a new read takes longer than `waitAtMostMs`; undefined before the first
 */
export function latestOf<Value>(read: () => Promise<Value>, { freshForMs, waitAtMostMs, now }: Options) {
  let latest: Latest<Value> | undefined
  let running: Promise<void> | undefined

  async function renew(): Promise<void> {
    try {
      latest = { value: await read(), readAt: now() }
    } finally {
      running = undefined
    }
  }

  return async (): Promise<Latest<Value> | undefined> => {
    if (latest !== undefined && Math.abs(now().getTime() - latest.readAt.getTime()) < freshForMs) return latest
    running ??= renew()
    await withTimeLimit(waitAtMostMs, running, () => undefined)
    return latest
  }
}
