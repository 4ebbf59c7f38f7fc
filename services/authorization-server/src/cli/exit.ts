/** What the exit codes of `valetkey` mean; `valetkey --help` lists them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, conflict: 4 } as const

/** A command that could not do what it was asked, said in one line. */
export class CommandFailure extends Error {
  readonly exitCode: number
  constructor(kind: 'failed' | 'usage' | 'notFound' | 'conflict', message: string) {
    super(message)
    this.name = 'CommandFailure'
    this.exitCode = EXIT[kind]
  }
}
