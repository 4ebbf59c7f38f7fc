import { setTimeout as wait } from 'node:timers/promises'

/** Waits until the condition is true, and fails after ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const limit = Date.now() + 10_000
  while (!(await condition())) {
    if (Date.now() > limit) throw new Error('the condition was not true within ten seconds')
    await wait(5)
  }
}
