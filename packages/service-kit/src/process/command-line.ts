import type { EventEmitter } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { ConfigurationError } from './environment-reader.js'

/** Prints a command's result: one JSON document with `--json`, else lines of text. */
export function printResult(
  { out }: { out: (text: string) => void },
  json: boolean | undefined,
  document: unknown,
  lines: readonly string[]
): void {
  out(json ? `${JSON.stringify(document, null, 2)}\n` : lines.map((line) => `${line}\n`).join(''))
}

/** The output of a failed command: one line for each problem, never a stack trace. */
export function linesOfFailure(error: unknown): readonly string[] {
  if (error instanceof ConfigurationError) return error.problems
  if (!(error instanceof Error)) return [String(error)]
  const cause = error.cause instanceof Error && error.cause.message !== '' ? ` (${error.cause.message})` : ''
  return `${error.message}${cause}`.split('\n')
}

/** Asks for confirmation at the terminal. Any answer but yes means no. */
export async function askAtTerminal(question: string): Promise<'yes' | 'no' | 'interrupted'> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim()) ? 'yes' : 'no'
  } catch {
    // Ctrl-C or Ctrl-D.
    return 'interrupted'
  } finally {
    terminal.close()
  }
}

/**
 * Ends the process when the reader of its output closes the pipe, as `head` does. Nothing more can be written, so there is
 * no message.
 */
export function exitOnClosedPipe(output: EventEmitter, exitCode: number): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(exitCode)
  })
}
