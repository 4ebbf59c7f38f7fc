import { setTimeout as wait } from 'node:timers/promises'

/** Waits until the condition is true; Jest ends a test in which it never is. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await wait(5)
}
