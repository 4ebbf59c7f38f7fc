import { AdministrationError } from '../../operator/use-cases/administration-error.js'

/** An entry of a list that is not used, although the rest of the list is. */
type SkippedEntry = { place: string; reason: string }

/** The mistakes of a registry file, so that one run names all of them. */
export type Mistakes = {
  skip(entry: SkippedEntry): void
  skipped: readonly SkippedEntry[]
  count(): number
  /** @returns undefined if `run` throws an AdministrationError, which becomes a mistake at this place */
  check<Result>(place: string, run: () => Result | Promise<Result>): Promise<Result | undefined>
  /** @throws {AdministrationError} with one line for each mistake, in the order in which they were found */
  throwIfAny(): void
}

const MOST_LINES = 100

export function collectMistakes(): Mistakes {
  const found: { place: string; error: AdministrationError }[] = []
  const skipped: SkippedEntry[] = []
  return {
    skip: (entry) => skipped.push(entry),
    skipped,
    count: () => found.length,
    async check(place, run) {
      try {
        return await run()
      } catch (error) {
        if (!(error instanceof AdministrationError)) throw error
        found.push({ place, error })
        return undefined
      }
    },
    throwIfAny() {
      if (found.length === 0) return
      const kind = found.every(({ error }) => error.kind === 'conflict') ? 'conflict' : 'invalid'
      const lines = found.map(({ place, error }) => `${place}: ${error.message}`)
      throw new AdministrationError(kind, upToMost(lines).join('\n'))
    }
  }
}

/** A file of millions of mistakes must not fill the terminal. */
export function upToMost(lines: readonly string[]): readonly string[] {
  if (lines.length <= MOST_LINES) return lines
  return [...lines.slice(0, MOST_LINES), `and ${lines.length - MOST_LINES} more`]
}
