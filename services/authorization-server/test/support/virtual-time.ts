import { setImmediate as turn } from 'node:timers/promises'

type Task = { at: number; number: number; run: () => void }

/** A clock that moves only from one task to the next. Tasks of one moment run in the order in which they were added. */
export function createVirtualTime() {
  const tasks: Task[] = []
  let present = 0
  let added = 0

  const at = (time: number, run: () => void): void => {
    tasks.push({ at: Math.max(time, present), number: added++, run })
  }

  return {
    now: () => present,
    at,
    sleep: (milliseconds: number) => new Promise<void>((resolve) => at(present + milliseconds, resolve)),
    /** Runs all tasks, and those that they add. */
    async runAll(): Promise<void> {
      await turn()
      for (;;) {
        tasks.sort((one, other) => one.at - other.at || one.number - other.number)
        const next = tasks.shift()
        if (next === undefined) return
        present = next.at
        next.run()
        await turn()
      }
    }
  }
}

export type VirtualTime = ReturnType<typeof createVirtualTime>
