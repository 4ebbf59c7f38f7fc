import { type DestinationStream, destination as fileDestination, type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger } from 'pino'

/**
 * JSON lines on stdout. What may be logged is decided where a line is written; the redaction here is the second line of
 * defence for the members that would hurt most.
 * @param destination where the lines go instead, for a test that reads them
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

/** Synchronous, so that a process that ends in any way has written all of its lines. */
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
  // Postgres quotes the row that it refused.
  'err.detail',
  'err.where'
]
