/** The exit codes of `valetkey-files`; `valetkey-files --help` describes them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** A failed command; the message is one line. */
export class CommandFailure extends Error {
  readonly exitCode: number
  constructor(kind: Exclude<keyof typeof EXIT, 'ok'>, message: string) {
    super(message)
    this.name = 'CommandFailure'
    this.exitCode = EXIT[kind]
  }
}
