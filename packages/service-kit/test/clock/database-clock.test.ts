import { expect, test } from '@jest/globals'
import { createDatabaseClock, refuseWrongClock, watchClock } from '../../src/clock/database-clock.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import type { Database } from '../../src/postgres/postgres.js'
import { ConfigurationError } from '../../src/process/environment-reader.js'
import { StoreUnavailable } from '../../src/stores/store-unavailable.js'

const NOW = Date.parse('2026-11-22T12:00:00.000Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A process and a Postgres that responds immediately. */
function world({ ahead = 0, isReached = true } = {}) {
  const state = { elapsed: 0, ahead, isReached, lines: [] as string[] }
  const query = async () => {
    if (!state.isReached) throw new StoreUnavailable('postgres', new Error('refused'))
    return [{ now: NOW + state.elapsed }]
  }
  const own = { wall: () => NOW + state.elapsed + state.ahead, monotonic: () => 5_000 + state.elapsed }
  const clock = createDatabaseClock({ query: query as unknown as Database['query'] }, own)
  const logger = {
    info: ({ event }: { event: string }) => state.lines.push(event),
    error: ({ event }: { event: string }, message: string) => state.lines.push(`${event}: ${message}`)
  }
  return { state, clock, logger: logger as unknown as Parameters<typeof clock.start>[0] }
}

test('before the first measurement, now() is the time of the process, and the offset is undefined', async () => {
  const { clock } = world({ ahead: HOUR })
  expect([clock.now().getTime(), clock.offsetMs()]).toEqual([NOW + HOUR, undefined])
})

test.each([-400 * DAY, -HOUR, -1, 0, 1, HOUR, 400 * DAY])(
  'a process whose clock is %d ms ahead: the time is that of Postgres, and goes on with the monotonic clock',
  async (ahead) => {
    const { clock, state } = world({ ahead })
    await clock.measure()
    expect([clock.now().getTime(), clock.offsetMs()]).toEqual([NOW, ahead])
    state.elapsed = 2_000
    expect(clock.now().getTime()).toBe(NOW + 2_000)
    // Setting the clock of the machine changes the offset immediately, but not now().
    state.ahead += HOUR
    expect([clock.now().getTime(), clock.offsetMs()]).toEqual([NOW + 2_000, ahead + HOUR])
  }
)

test.each([
  { ahead: 30_000, starts: true },
  { ahead: -30_000, starts: true },
  { ahead: 30_001, starts: false },
  { ahead: -30_001, starts: false },
  { ahead: 400 * DAY, starts: false }
])('a clock $ahead ms ahead: the process starts and is ready: $starts', async ({ ahead, starts }) => {
  const { clock } = world({ ahead })
  const refused = await refuseWrongClock(clock).catch((error: unknown) => error)
  expect(refused instanceof ConfigurationError).toBe(!starts)
  const unready = await clock.mustAgree().catch((error: unknown) => error)
  expect(unready === undefined).toBe(starts)
})

test('the error has the difference, both times and the remedy, in one line', async () => {
  const { clock } = world({ ahead: -HOUR })
  await expect(refuseWrongClock(clock)).rejects.toThrow(
    'the clock of this machine is 3600.0 s behind that of Postgres (2026-11-22T11:00:00.000Z here, 2026-11-22T12:00:00.000Z there); synchronize both clocks with NTP'
  )
})

test('without Postgres a process starts, but is not ready before the first measurement', async () => {
  const { clock, state } = world({ ahead: HOUR, isReached: false })
  await refuseWrongClock(clock)
  await expect(clock.mustAgree()).rejects.toThrow(/not been read/)
  state.isReached = true
  await expect(clock.mustAgree()).rejects.toThrow(/3600.0 s ahead of/)
  state.ahead = 0
  await clock.mustAgree()
  // A later outage of Postgres does not fail the check of the clock.
  state.isReached = false
  await clock.mustAgree()
})

test('the clock logs each change between right and wrong once', async () => {
  const { clock, state, logger } = world()
  clock.start(logger)
  for (const ahead of [0, HOUR, HOUR, HOUR + 1, 0, 0]) {
    state.ahead = ahead
    await clock.measure()
  }
  clock.stop()
  expect(state.lines).toEqual([expect.stringMatching(/^clock_wrong: .* 3600\.0 s ahead of/), 'clock_right'])
})

test('the gauge is in seconds with a sign, and has no sample before the first measurement', async () => {
  const { clock } = world({ ahead: -2_500 })
  const metrics = createMetrics()
  watchClock(metrics, clock)
  expect(await metrics.expose()).not.toMatch(/^valetkey_clock_offset_seconds/m)
  await clock.measure()
  expect(await metrics.expose()).toMatch(/^valetkey_clock_offset_seconds -2\.5$/m)
})
