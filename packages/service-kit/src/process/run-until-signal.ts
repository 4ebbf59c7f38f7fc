import { ConfigurationError } from './environment-reader.js'
import type { Logger } from './logger.js'

const STOP_TIME_LIMIT_MS = 15_000

/** A service that listens. `drainDelay` is the part of `close`, in seconds, that is only a wait. */
export type RunningService = { logger: Logger; drainDelay: number; close(): Promise<void> }

/**
 * Starts a service and runs it until SIGTERM or SIGINT, which close it and end the process: with 0 when that went well,
 * with 1 when it failed or took too long. A signal that arrives during the start takes effect when the start is done,
 * so that nothing that the start opened is left open. A second signal ends the process at once.
 *
 * A start that fails ends the process with 1 and says why on stderr, one line for each problem.
 */
export async function runUntilSignal(start: () => Promise<RunningService>): Promise<void> {
  // Before the start: without a listener SIGTERM would end the process with unfinished work, or, for process 1 of a
  // container, do nothing.
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
