import type { CommandDeps } from './command-deps.js'
import type { ExcludedName } from './excluded-names.js'
import { printable } from './printable.js'
import { progressLine } from './progress-line.js'
import { walkNames } from './walk-directory.js'

export type ProgressBar = {
  /** Counts one more entry. */
  advance(path: Buffer): void
  /** Removes the line, so that another line can be written. */
  clear(): void
  stop(): void
}

const REDRAW_EVERY_MS = 100

/** Shows the progress of an import on a terminal; does nothing without one. */
export function showProgress(context: CommandDeps, directory: Buffer, isExcluded: ExcludedName): ProgressBar {
  if (!context.isTerminal) return { advance: () => {}, clear: () => {}, stop: () => {} }
  const startedAt = Date.now()
  let drawnAt = 0
  let isDrawn = false
  let done = 0
  let total: number | undefined
  let stopped = false
  // Runs during the import: reading only the names is many times as fast as reading each file's metadata.
  void countEntries()

  async function countEntries(): Promise<void> {
    let count = 0
    for await (const _name of walkNames(directory, isExcluded)) {
      count += 1
      if (stopped) return
    }
    total = count
  }

  function clear(): void {
    if (isDrawn) context.say('\r\u001b[K')
    isDrawn = false
  }

  return {
    advance(path) {
      done += 1
      const now = Date.now()
      if (now - drawnAt < REDRAW_EVERY_MS) return
      drawnAt = now
      const progress = { done, total, elapsedMs: now - startedAt, path: printable(path) }
      context.say(`\r\u001b[K${progressLine(progress, context.columns())}`)
      isDrawn = true
    },
    clear,
    stop() {
      stopped = true
      clear()
    }
  }
}
