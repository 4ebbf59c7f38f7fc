import type { Logger } from './logger.js'

const STOP_TIME_LIMIT_MS = 15_000

/**
 * Runs `stop` once at SIGTERM or SIGINT and then ends the process: 0 when it went well, 1 when it failed or took too
 * long. A second signal ends it at once.
 * @param drainSeconds how much of `stop` is a wait that was asked for
 */
export function runUntilSignal(stop: () => Promise<void>, logger: Logger, drainSeconds = 0): void {
  let stopping = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1)
    stopping = true
    logger.info({ event: 'stopping', signal }, 'stopping')
    setTimeout(
      () => {
        logger.error({ event: 'stop_timed_out' }, 'the stop took too long')
        process.exit(1)
      },
      STOP_TIME_LIMIT_MS + drainSeconds * 1_000
    ).unref()
    stop().then(
      () => {
        logger.info({ event: 'stopped' }, 'stopped')
        process.exit(0)
      },
      (error: unknown) => {
        logger.error({ event: 'stop_failed', err: error }, 'the stop failed')
        process.exit(1)
      }
    )
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}
