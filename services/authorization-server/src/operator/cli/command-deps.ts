import type { Database, Environment } from '@valetkey/service-kit'
import type { Author } from '../use-cases/actor.js'

/** What commands need from the process; tests pass substitutes. */
export type CommandDeps = {
  /** All settings, for `doctor`. */
  environment: () => Environment
  databaseUrl: () => string
  database: () => Database
  stdin: NodeJS.ReadableStream
  /** The operating system's user name, for the audit entries. */
  userName: () => string
  /** stdout: results only. */
  out: (text: string) => void
  /** stderr: everything else. */
  say: (text: string) => void
  /** Asks the user at the terminal; undefined without a terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined
}

/** The actor of a command. */
export function authorOf(context: CommandDeps): Author {
  return { actor: { kind: 'command_line', name: context.userName() } }
}
