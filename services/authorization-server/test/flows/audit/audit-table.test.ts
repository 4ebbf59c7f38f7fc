import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { eventsIn } from '../../../src/platform/audit/audit-budget.js'
import { CORE_EVENTS } from '../../../src/platform/audit/audit-event.js'
import { type AuditEvent, type AuditTrail, createAuditTrail } from '../../../src/platform/audit/audit-trail.js'
import type { AuditEventRecord } from '../../../src/storage/postgres/audit-events.js'

const NOW = new Date('2026-11-21T08:00:00Z')

let batches: AuditEventRecord[][]
let logged: Record<string, unknown>[]
let isAway: boolean
let failure: Error
let trail: AuditTrail

beforeEach(() => {
  jest.useFakeTimers()
  batches = []
  logged = []
  isAway = false
  failure = new StoreUnavailable('postgres', new Error('away'))
  const append = async (events: readonly AuditEventRecord[]) => {
    if (isAway) throw failure
    batches.push([...events])
  }
  trail = createAuditTrail({ append, appendMissing: append }, CORE_EVENTS, () => NOW)
})
afterEach(() => {
  jest.useRealTimers()
})

function record(change: Partial<AuditEvent> = {}, id = 'request-1'): void {
  const write = (level: string) => (fields: object, message: string) => logged.push({ level, message, ...fields })
  const log = { info: write('info'), error: write('error') }
  trail.record({ id, ip: '192.0.2.1', log }, { event: 'code_redeemed', ...change })
}

const sizes = () => batches.map((batch) => batch.length)

test('an event is in the log immediately and in the table within 250 ms', async () => {
  record({ clientId: 'a-client', grantId: 'a-grant' })
  const common = { event: 'code_redeemed', clientId: 'a-client', userId: undefined, address: '192.0.2.1' }
  expect(logged).toEqual([{ level: 'info', message: 'code redeemed', ...common, grantId: 'a-grant' }])
  await jest.advanceTimersByTimeAsync(249)
  expect(batches).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  const times = { occurredAt: NOW, recordedAt: expect.any(Number) }
  expect(batches).toEqual([[{ ...common, ...times, requestId: 'request-1', details: { grantId: 'a-grant' } }]])
})

test('many events are one statement in 250 ms, in order', async () => {
  for (let tick = 0; tick < 1_000; tick += 1) {
    record({}, `request-${tick}`)
    await jest.advanceTimersByTimeAsync(1)
  }
  expect(sizes()).toEqual([250, 250, 250, 250])
  expect(batches.flat().map(({ requestId }) => requestId)).toEqual(
    Array.from({ length: 1_000 }, (_, tick) => `request-${tick}`)
  )
})

test('nothing is written while nothing happens', async () => {
  await jest.advanceTimersByTimeAsync(10_000)
  await trail.close()
  expect(batches).toEqual([])
})

test('the stop writes the queue immediately, and only once', async () => {
  record()
  record()
  await trail.close()
  expect(sizes()).toEqual([2])
  await jest.advanceTimersByTimeAsync(1_000)
  expect(sizes()).toEqual([2])
})

test('the stop waits for the statement in flight', async () => {
  let finish = () => {}
  const slow = new Promise<void>((resolve) => {
    finish = resolve
  })
  const done: number[] = []
  const append = async (events: readonly AuditEventRecord[]) => {
    if (events.length === 1) await slow
    done.push(events.length)
  }
  trail = createAuditTrail({ append, appendMissing: append }, CORE_EVENTS, () => NOW)
  record()
  await jest.advanceTimersByTimeAsync(250)
  record()
  record()
  const closed = trail.close()
  await jest.advanceTimersByTimeAsync(100)
  expect(done).toEqual([])
  finish()
  await closed
  expect(done).toEqual([1, 2])
})

const lossesIn = (lines: Record<string, unknown>[]) => lines.filter(({ event }) => event === 'audit_batch_lost')

test('events during an outage of Postgres are in the log immediately, and in the table afterwards', async () => {
  isAway = true
  for (let count = 1; count <= 3; count += 1) record({}, `request-${count}`)
  await jest.advanceTimersByTimeAsync(10_000)
  record({}, 'request-4')
  expect(logged.filter(({ event }) => event === 'code_redeemed')).toHaveLength(4)
  isAway = false
  await jest.advanceTimersByTimeAsync(250)
  expect(batches.map((batch) => batch.map(({ requestId }) => requestId))).toEqual([
    ['request-1', 'request-2', 'request-3', 'request-4']
  ])
  expect(lossesIn(logged)).toEqual([])
  expect(trail.lost()).toBe(0)
})

test('a batch that Postgres refuses is lost, logged and counted; the next one is written', async () => {
  isAway = true
  failure = new Error('invalid byte sequence')
  record()
  record()
  await jest.advanceTimersByTimeAsync(250)
  expect(lossesIn(logged)).toMatchObject([{ level: 'error', count: 2, err: failure }])
  expect(trail.lost()).toBe(2)
  isAway = false
  record()
  await jest.advanceTimersByTimeAsync(250)
  expect(sizes()).toEqual([1])
})

test('a stop during an outage of Postgres succeeds and logs the lost events', async () => {
  isAway = true
  record()
  await jest.advanceTimersByTimeAsync(250)
  record()
  await trail.close()
  expect(lossesIn(logged)).toMatchObject([{ level: 'error', count: 2 }])
})

test('the queue is limited: it keeps the oldest events and counts the rest; the log has all', async () => {
  isAway = true
  for (let count = 1; count <= 10_200; count += 1) record({}, `request-${count}`)
  await jest.advanceTimersByTimeAsync(250)
  for (let count = 10_201; count <= 10_500; count += 1) record({}, `request-${count}`)
  await jest.advanceTimersByTimeAsync(250)
  isAway = false
  await trail.close()
  expect(sizes()).toEqual([10_000])
  expect(batches[0]?.at(-1)?.requestId).toBe('request-10000')
  expect(lossesIn(logged).map(({ count }) => count)).toEqual([200, 300])
  expect(trail.lost()).toBe(500)
  expect(logged).toHaveLength(10_500 + 2)
})

describe('refusals of anonymous requests', () => {
  const refuse = (id: string) => record({ event: 'authorization_refused', reason: 'unknown_client' }, id)
  const refuseMany = (count: number, from = 1) => {
    for (let index = from; index < from + count; index += 1) refuse(`request-${index}`)
  }
  const stored = () => batches.flat().map(({ requestId, details: { count } }) => [requestId, count])
  const FIRST_FIVE = [1, 2, 3, 4, 5].map((index) => [`request-${index}`, undefined])

  test('all are in the log; the table has the first of a minute immediately and the count of the rest at its end', async () => {
    refuseMany(1_000)
    expect(logged).toHaveLength(1_000)
    await jest.advanceTimersByTimeAsync(59_999)
    expect(stored()).toEqual(FIRST_FIVE)
    await jest.advanceTimersByTimeAsync(1 + 250)
    expect(stored()).toEqual([...FIRST_FIVE, ['request-6', 995]])
    expect(trail.aggregated()).toBe(995)
  })

  test('the next minute begins with the first event in it', async () => {
    refuseMany(10)
    await jest.advanceTimersByTimeAsync(300_000)
    batches = []
    refuseMany(10)
    await jest.advanceTimersByTimeAsync(60_250)
    expect(stored()).toEqual([...FIRST_FIVE, ['request-6', 5]])
  })

  test('the stop writes the open minute', async () => {
    refuseMany(10)
    await trail.close()
    expect(stored()).toEqual([...FIRST_FIVE, ['request-6', 5]])
    await jest.advanceTimersByTimeAsync(120_000)
    expect(stored()).toHaveLength(6)
  })

  test('during an outage of Postgres, a flood of hours uses few rows of the queue, and all are counted afterwards', async () => {
    isAway = true
    for (let minute = 0; minute < 120; minute += 1) {
      refuseMany(1_000)
      await jest.advanceTimersByTimeAsync(60_000)
    }
    record({ event: 'code_redeemed' }, 'a decision')
    isAway = false
    await trail.close()
    expect(batches.flat()).toHaveLength(120 * 6 + 1)
    expect(eventsIn(batches.flat())).toBe(120_000 + 1)
    expect(trail.lost()).toBe(0)
  })

  test('a lost count is counted with all its events', async () => {
    refuseMany(1_000)
    isAway = true
    await trail.close()
    expect(trail.lost()).toBe(1_000)
    expect(lossesIn(logged)).toMatchObject([{ count: 1_000 }])
  })
})
