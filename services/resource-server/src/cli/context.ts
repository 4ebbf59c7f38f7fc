import type { Database, Environment } from '@valetkey/service-kit'

/** What commands get from the process, so that tests can give them something else. */
export type CommandContext = {
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
  /** Asks whoever sits at the terminal; undefined where nobody does. */
  confirm: ((question: string) => Promise<boolean>) | undefined
  /** From now on the first Ctrl-C aborts this, and only the second one ends the process. */
  untilInterrupted: () => AbortSignal
}
