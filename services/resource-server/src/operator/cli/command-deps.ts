import type { ConnectedDatabase, Environment } from '@valetkey/service-kit'

/** What commands need from the process; tests pass substitutes. */
export type CommandDeps = {
  /** All settings, for `doctor`. */
  environment: () => Environment
  databaseUrl: () => string
  database: () => ConnectedDatabase
  /** stdout: results only. */
  out: (text: string) => void
  /** stderr: everything else. */
  say: (text: string) => void
  /** Whether stderr is a terminal, so that progress is shown. */
  isTerminal: boolean
  /** Current width of the terminal. */
  columns: () => number
  /** Asks the user at the terminal; undefined without a terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined
  /** After this call, the first Ctrl-C aborts the signal, and the second ends the process. */
  untilInterrupted: () => AbortSignal
}
