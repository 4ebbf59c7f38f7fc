import type { Database, Environment } from '@valetkey/service-kit'

/** What commands need from the process; tests pass substitutes. */
export type CommandDeps = {
  /** All of it, for the one command that looks at the whole service. */
  environment: () => Environment
  databaseUrl: () => string
  database: () => Database
  /** stdout: results only. */
  out: (text: string) => void
  /** stderr: everything else. */
  say: (text: string) => void
  /** Whether a person sees stderr, and so wants to see how far it has come. */
  isWatched: boolean
  /** How wide the terminal is at this moment. */
  columns: () => number
  /** Asks the user at the terminal; undefined without a terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined
  /** From now on the first Ctrl-C aborts this, and only the second one ends the process. */
  untilInterrupted: () => AbortSignal
}
