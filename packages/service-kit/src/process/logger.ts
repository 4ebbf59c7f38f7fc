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

/** Synchronous, so that no line is lost when the process ends. */
function standardOutput(): DestinationStream {
  return fileDestination({ dest: 1, sync: true })
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
