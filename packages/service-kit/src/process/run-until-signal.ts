import { ConfigurationError } from './environment-reader.js'
import type { Logger } from './logger.js'

const STOP_TIME_LIMIT_MS = 15_000

/** A service that listens. `drainDelay`: the seconds of `close` during which it only waits. */
export type RunningService = { logger: Logger; drainDelay: number; close(): Promise<void> }

/**
 * Starts a service and runs it until SIGTERM or SIGINT, which close it and end the process: with exit code 0, or with 1 if
 * closing failed or took too long. A signal during the start takes effect after it, so that everything that was opened is
 * closed. A second signal ends the process at once.
 *
 * If the start fails, the process ends with 1 and writes one line for each problem to stderr.
 */
export async function runUntilSignal(start: () => Promise<RunningService>): Promise<void> {
  // Listens before the start: without a listener, SIGTERM would end the process with unfinished work, or do nothing if it is
  // process 1 of a container.
  const signalled = firstSignal()
  const service = await start().catch(refuseStart)
  await stop(service, await signalled)
}

function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false
    const onSignal = (signal: NodeJS.Signals): void => {
      if (stopping) process.exit(1)
      stopping = true
      resolve(signal)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

function refuseStart(error: unknown): never {
  const lines = error instanceof ConfigurationError ? error.problems : [`could not start: ${String(error)}`]
  for (const line of lines) process.stderr.write(`${line}\n`)
  process.exit(1)
}

async function stop({ logger, drainDelay, close }: RunningService, signal: NodeJS.Signals): Promise<never> {
  logger.info({ event: 'stopping', signal }, 'stopping')
  const limit = STOP_TIME_LIMIT_MS + drainDelay * 1_000
  setTimeout(() => {
    logger.error({ event: 'stop_timed_out' }, 'the stop took too long')
    process.exit(1)
  }, limit).unref()
  try {
    await close()
  } catch (error) {
    logger.error({ event: 'stop_failed', err: error }, 'the stop failed')
    process.exit(1)
  }
  logger.info({ event: 'stopped' }, 'stopped')
  process.exit(0)
}
