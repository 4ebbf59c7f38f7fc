import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify'

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/**
 * The log of one request: every line carries its id. Fastify would make a child of the logger for each request, which takes
 * longer than writing the one line that most requests need.
 */
export const requestLog: NonNullable<FastifyServerOptions['childLoggerFactory']> = (logger, bindings) => {
  const line =
    (level: Level) =>
    (given: unknown, ...rest: [string?, ...unknown[]]): void =>
      typeof given === 'string'
        ? logger[level](bindings, given, ...rest)
        : logger[level]({ ...bindings, ...fieldsOf(given) }, ...rest)
  return {
    level: logger.level,
    fatal: line('fatal'),
    error: line('error'),
    warn: line('warn'),
    info: line('info'),
    debug: line('debug'),
    trace: line('trace'),
    silent: () => {},
    child: (more, options) => logger.child({ ...bindings, ...more }, options)
  } satisfies FastifyBaseLogger
}

/** pino names an error that comes alone `err`; spread into fields it would lose its message and stack. */
function fieldsOf(given: unknown): object {
  if (given instanceof Error) return { err: given }
  return typeof given === 'object' && given !== null ? given : {}
}
