import { ConfigurationError } from '@valetkey/service-kit'
import { CommanderError } from 'commander'
import { AdministrationError } from '../use-cases/administration-error.js'

/** The exit codes of `valetkey`; `valetkey --help` describes them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, conflict: 4, interrupted: 130 } as const

/** A failed command; the message is one line. */
export class CommandFailure extends Error {
  readonly exitCode: number
  constructor(kind: Exclude<keyof typeof EXIT, 'ok'>, message: string) {
    super(message)
    this.name = 'CommandFailure'
    this.exitCode = EXIT[kind]
  }
}

const ADMINISTRATION_EXIT = {
  invalid: EXIT.usage,
  not_found: EXIT.notFound,
  conflict: EXIT.conflict,
  busy: EXIT.failed
} as const

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof AdministrationError) return ADMINISTRATION_EXIT[error.kind]
  if (error instanceof CommandFailure) return error.exitCode
  return error instanceof ConfigurationError ? EXIT.usage : EXIT.failed
}
