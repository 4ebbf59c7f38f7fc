import type { Metrics } from '../metrics/metrics.js'
import type { Database } from '../postgres/postgres.js'
import { ConfigurationError } from '../process/environment-reader.js'
import type { Logger } from '../process/logger.js'
import { settleWithin } from '../process/settle-within.js'
import { addSample, bestOf, type ClockSample, offsetOf } from './clock-samples.js'

/** A process whose clock differs by more does not start, and is not ready. */
export const MAX_OFFSET_MS = 30_000

const MEASURE_EVERY_MS = 5_000
const START_LIMIT_MS = 3_000
const PROBE_LIMIT_MS = 1_000

/** The clock of Postgres, as measured by this process (docs/adr/0022-one-clock.md). */
export type DatabaseClock = {
  /** Postgres's time; before the first measurement, the time of this process. */
  now(): Date
  /** Milliseconds by which this process's clock is ahead of Postgres's; undefined before the first measurement. */
  offsetMs(): number | undefined
  /** Reads Postgres's clock once. @throws {StoreUnavailable} */
  measure(): Promise<void>
  /** Measures for readiness, and throws if this process's clock is wrong or was never measured. */
  mustAgree(): Promise<void>
  /** Measures every five seconds, and logs each change between right and wrong. */
  start(logger: Pick<Logger, 'info' | 'error'>): void
  stop(): void
}

type OwnClocks = { wall(): number; monotonic(): number }

const OWN: OwnClocks = { wall: () => Date.now(), monotonic: () => performance.now() }

/** @param own the clocks of this process, in milliseconds */
export function createDatabaseClock(database: Pick<Database, 'query'>, own = OWN): DatabaseClock {
  let samples: readonly ClockSample[] = []
  let best: ClockSample | undefined
  let measuring: Promise<void> | undefined
  let wasWrong = false
  let logger: Pick<Logger, 'info' | 'error'> | undefined
  let timer: NodeJS.Timeout | undefined

  const now = () => new Date(best === undefined ? own.wall() : own.monotonic() + offsetOf(best))
  const offsetMs = () => (best === undefined ? undefined : own.wall() - now().getTime())

  async function readClock(): Promise<void> {
    const sentAt = own.monotonic()
    const [row] = await database.query<{ now: number }>(READ_CLOCK)
    if (row === undefined) return
    samples = addSample(samples, { theirs: row.now, sentAt, receivedAt: own.monotonic() })
    best = bestOf(samples)
    logChange()
  }

  function logChange(): void {
    const offset = offsetMs()
    const isWrong = isFarOff(offset)
    if (offset === undefined || isWrong === wasWrong) return
    wasWrong = isWrong
    const fields = { offsetSeconds: offset / 1_000, postgres: now().toISOString() }
    if (isWrong) logger?.error({ event: 'clock_wrong', ...fields }, describeOffset(offset, now()))
    else logger?.info({ event: 'clock_right', ...fields }, 'the clock of this machine agrees with Postgres again')
  }

  function measure(): Promise<void> {
    measuring ??= readClock().finally(() => {
      measuring = undefined
    })
    return measuring
  }

  return {
    now,
    offsetMs,
    measure,

    async mustAgree() {
      // If Postgres does not respond, the last measurement counts. Its own check reports the outage.
      await settleWithin(PROBE_LIMIT_MS, [measure()])
      const offset = offsetMs()
      if (offset === undefined) throw new Error('the clock of Postgres has not been read yet')
      if (isFarOff(offset)) throw new Error(describeOffset(offset, now()))
    },

    start(newLogger) {
      logger = newLogger
      logChange()
      timer = setInterval(() => measure().catch(() => {}), MEASURE_EVERY_MS)
    },

    stop: () => clearInterval(timer)
  }
}

const READ_CLOCK = {
  name: 'read_clock',
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as now',
  values: []
}

const isFarOff = (offsetMs: number | undefined): boolean => offsetMs !== undefined && Math.abs(offsetMs) > MAX_OFFSET_MS

function describeOffset(offsetMs: number, postgres: Date): string {
  const own = new Date(postgres.getTime() + offsetMs)
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1)
  const difference = `${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} that of Postgres`
  return `the clock of this machine is ${difference} (${own.toISOString()} here, ${postgres.toISOString()} there); synchronize both clocks with NTP`
}

/**
 * Measures the clock before a process serves anything. If Postgres does not respond in time, the readiness check decides later.
 * @throws {ConfigurationError} when the clock of this machine differs from Postgres's by more than `MAX_OFFSET_MS`
 */
export async function refuseWrongClock(clock: DatabaseClock): Promise<void> {
  await settleWithin(START_LIMIT_MS, [clock.measure()])
  const offset = clock.offsetMs()
  if (offset !== undefined && isFarOff(offset)) throw new ConfigurationError([describeOffset(offset, clock.now())])
}

/** A gauge of the clock's offset; without a sample before the first measurement. */
export function watchClock(metrics: Metrics, clock: Pick<DatabaseClock, 'offsetMs'>): void {
  metrics.gauge(
    {
      name: 'valetkey_clock_offset_seconds',
      help: 'Seconds by which the clock of this process is ahead of that of Postgres; negative if it is behind.'
    },
    () => {
      const offset = clock.offsetMs()
      return offset === undefined ? [] : [{ value: offset / 1_000 }]
    }
  )
}
