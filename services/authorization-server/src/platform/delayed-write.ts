/** Writes something in the background, at most once in an interval, and never two at a time. */
export type DelayedWrite = {
  /** Asks for a write; those asked for within the interval become one. */
  request(): void
  /** Writes what is left and stops. */
  close(): Promise<void>
}

export function createDelayedWrite(write: () => Promise<void>, intervalMs: number): DelayedWrite {
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  return {
    request() {
      timer ??= setTimeout(() => {
        timer = undefined
        writing = writing.then(write)
      }, intervalMs)
    },
    async close() {
      clearTimeout(timer)
      await writing
      await write()
    }
  }
}
