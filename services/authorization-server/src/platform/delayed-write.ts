/** Writes in the background, at most once per interval, one write at a time. */
export type DelayedWrite = {
  /** Requests a write; requests within one interval share a write. */
  request(): void
  /** Writes the rest and stops. */
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
      // The write is in the chain, so that a second close waits for what the first one writes.
      writing = writing.then(write)
      await writing
    }
  }
}
