import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { buildLogger } from '@valetkey/service-kit'
import { startHousekeeping } from '../../src/platform/housekeeping.js'

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

/** Records the time of each call; the first `fullBatches` deletions return full batches. */
function fakeRows(fullBatches = 0) {
  const calls: string[] = []
  let left = fullBatches
  return {
    calls,
    async deleteSome() {
      calls.push('delete')
      left -= 1
      return left >= 0
    },
    async keepBuckets() {
      calls.push('keep')
    },
    async eraseSomeRetryResponses() {
      calls.push('erase')
      return false
    }
  }
}

function start(rows: ReturnType<typeof fakeRows>) {
  const lines: { level: string; event: string }[] = []
  const logger = buildLogger('test', 'info', { write: (line) => lines.push(JSON.parse(line)) })
  return {
    lines,
    housekeeping: startHousekeeping(rows, { periodicTasks: [rows.keepBuckets], expiryTasks: [] }, logger)
  }
}

test('housekeeping erases responses every five seconds, and deletes rows every minute', async () => {
  const rows = fakeRows()
  const { housekeeping } = start(rows)
  await jest.advanceTimersByTimeAsync(60_000)
  await housekeeping.stop()
  expect(rows.calls.filter((call) => call === 'erase')).toHaveLength(12)
  expect(rows.calls.filter((call) => call === 'delete')).toHaveLength(1)
})

test('housekeeping creates and drops tables of access tokens at the start and every minute', async () => {
  const rows = fakeRows()
  const { housekeeping } = start(rows)
  await jest.advanceTimersByTimeAsync(0)
  expect(rows.calls).toEqual(['keep'])
  await jest.advanceTimersByTimeAsync(60_000)
  await housekeeping.stop()
  expect(rows.calls.filter((call) => call === 'keep')).toHaveLength(2)
})

test('housekeeping deletes until a batch is not full', async () => {
  const rows = fakeRows(3)
  const { housekeeping } = start(rows)
  await jest.advanceTimersByTimeAsync(60_000)
  await housekeeping.stop()
  expect(rows.calls.filter((call) => call === 'delete')).toHaveLength(4)
})

test('housekeeping repeats the tasks of features with the deletion until no batch is full', async () => {
  const rows = fakeRows()
  const batches = [true, false]
  const task = async () => batches.shift() ?? false
  const housekeeping = startHousekeeping(
    rows,
    { periodicTasks: [], expiryTasks: [task] },
    buildLogger('test', 'silent')
  )
  await jest.advanceTimersByTimeAsync(60_000)
  await housekeeping.stop()
  expect(batches).toEqual([])
  expect(rows.calls.filter((call) => call === 'delete')).toHaveLength(2)
})

test('a failure is logged and does not prevent the next run', async () => {
  const rows = fakeRows()
  let failures = 0
  const eraseSomeRetryResponses = async () => {
    failures += 1
    throw new Error('postgres is unavailable')
  }
  const { lines, housekeeping } = start({ ...rows, eraseSomeRetryResponses })
  await jest.advanceTimersByTimeAsync(60_000)
  await housekeeping.stop()
  expect(failures).toBe(12)
  expect(lines[0]).toMatchObject({ level: 'warn', event: 'housekeeping_failed' })
  expect(rows.calls.filter((call) => call === 'delete')).toHaveLength(1)
})

test('a long deletion delays neither erasing nor tables, and does not start twice', async () => {
  const rows = fakeRows()
  let deletions = 0
  let end = () => {}
  const deleteSome = () => {
    deletions += 1
    return new Promise<boolean>((resolve) => {
      end = () => resolve(false)
    })
  }
  const { housekeeping } = start({ ...rows, deleteSome })
  await jest.advanceTimersByTimeAsync(180_000)
  expect(rows.calls.filter((call) => call === 'erase')).toHaveLength(36)
  expect(rows.calls.filter((call) => call === 'keep')).toHaveLength(4)
  expect(deletions).toBe(1)
  end()
  await jest.advanceTimersByTimeAsync(60_000)
  expect(deletions).toBe(2)
  end()
  await housekeeping.stop()
})

test('stop waits for running work, ends a long deletion, and nothing starts afterwards', async () => {
  const rows = fakeRows(1_000)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const deleteSome = async () => {
    await held
    return rows.deleteSome()
  }
  const { housekeeping } = start({ ...rows, deleteSome })
  await jest.advanceTimersByTimeAsync(60_000)
  let hasStopped = false
  const stopped = housekeeping.stop().then(() => {
    hasStopped = true
  })
  await jest.advanceTimersByTimeAsync(1_000)
  expect(hasStopped).toBe(false)
  release()
  await stopped
  const callsAtStop = rows.calls.length
  await jest.advanceTimersByTimeAsync(120_000)
  expect(rows.calls).toHaveLength(callsAtStop)
  expect(rows.calls.filter((call) => call === 'delete')).toHaveLength(1)
})
