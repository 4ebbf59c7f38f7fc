import { type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger } from 'pino'

/**
 * JSON lines on stdout. What may be logged is decided where a line is written; the redaction here is the second line of
 * defence for the members that would hurt most.
 */
export function buildLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        'authorization',
        'cookie',
        'password',
        'headers.authorization',
        'headers.cookie',
        'req.headers',
        'err.parameters'
      ],
      censor: '[redacted]'
    }
  })
}
