import { type DestinationStream, destination as fileDestination, type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger } from 'pino'

/**
 * JSON lines on stdout. The code that writes a line must not log secrets; the redaction here is a second protection for the
 * most sensitive members.
 * @param destination for tests that read the lines
 */
export function buildLogger(service: string, level: string, destination: DestinationStream = standardOutput()): Logger {
  const options = {
    level,
    base: { service },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' }
  }
  return pino(options, destination)
}

let shared: DestinationStream | undefined

/** One for all loggers of the process. */
function standardOutput(): DestinationStream {
  shared ??= writingOnceATurn()
  return shared
}

/**
 * Writes the lines of one turn of the event loop together, in one synchronous write. All lines are written before the process
 * ends by itself or a crash is reported; a SIGKILL loses at most the lines of one turn.
 */
function writingOnceATurn(): DestinationStream & { flushSync(): void } {
  const output = fileDestination({ dest: 1, sync: true })
  let lines = ''
  function flushSync(): void {
    const text = lines
    lines = ''
    if (text !== '') output.write(text)
  }
  // Node emits it also after an uncaught exception, before it writes the report.
  process.on('exit', flushSync)
  return {
    write(line) {
      if (lines === '') setImmediate(flushSync)
      lines += line
    },
    // pino calls it after a line of level fatal.
    flushSync
  }
}

const REDACTED = [
  'authorization',
  'cookie',
  'password',
  'headers.authorization',
  'headers.cookie',
  'req.headers',
  'err.parameters',
  // Postgres quotes the refused row.
  'err.detail',
  'err.where'
]
