import { setTimeout as wait } from 'node:timers/promises'

/** Waits until something holds, and fails after ten seconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = Date.now() + 10_000
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error('it did not come to hold within ten seconds')
    await wait(5)
  }
}
