import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type ActivityReporter, createActivityReporter } from '../../src/activity/activity-reporter.js'
import { until } from '../until.js'

type Report = { report_id: string; uses: { grant_id: string; action: string; count: number; last_at: number }[] }
type Answer = { status: number; body?: object } | 'silence'

const NOW = new Date('2026-11-27T12:00:00.500Z')

let server: Server
let answers: Answer[]
let received: { report: Report; authorization: string | undefined }[]
let reporter: ActivityReporter
let logged: { level: string; event: unknown }[]
let timers: { run: () => void; milliseconds: number }[]
let present: number

/** The reporter's pauses pass only when the test says so. Other timers are real. */
function holdPauses(): void {
  const { setTimeout: start } = globalThis
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, milliseconds = 0) => {
    if (milliseconds < 30_000) return start(run, milliseconds)
    timers.push({ run, milliseconds })
    return start(() => {}, 0)
  }) as typeof start)
}

beforeEach(async () => {
  answers = []
  received = []
  logged = []
  timers = []
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ report: JSON.parse(body), authorization: request.headers.authorization })
    const answer = answers.shift() ?? { status: 200 }
    if (answer === 'silence') return
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  present = performance.now()
  jest.spyOn(performance, 'now').mockImplementation(() => present)
  holdPauses()
  reporter = start()
})
afterEach(async () => {
  jest.restoreAllMocks()
  await reporter.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function start(): ActivityReporter {
  const log = (level: string) => (members: object) => {
    logged.push({ level, event: (members as { event?: unknown }).event })
  }
  const { port } = server.address() as AddressInfo
  return createActivityReporter(
    { url: `http://127.0.0.1:${port}/uses`, clientId: 'api', clientSecret: 'secret' },
    { now: () => NOW, log: { info: log('info'), warn: log('warn'), error: log('error') } }
  )
}

/** Ends the pause, and waits until the server has had this many reports in all. */
async function endPause(reports: number): Promise<void> {
  const timer = timers.shift()
  if (timer === undefined) throw new Error('the reporter does not wait')
  timer.run()
  await until(() => received.length === reports)
}

const nextPause = async () => {
  await until(() => timers.length > 0)
  return timers[0]?.milliseconds
}
const events = () => logged.map(({ event }) => event)

describe('the reporter of uses', () => {
  test('sends one sum for all uses of half a minute, with the credential', async () => {
    for (let use = 0; use < 1_000; use += 1) reporter.count('grant', 'list_files', 2)
    expect([timers.length, timers[0]?.milliseconds, received.length]).toEqual([1, 30_000, 0])
    await endPause(1)
    expect(received[0]).toEqual({
      report: {
        report_id: expect.any(String),
        uses: [{ grant_id: 'grant', action: 'list_files', count: 2_000, last_at: NOW.getTime() / 1_000 - 0.5 }]
      },
      authorization: `Basic ${Buffer.from('api:secret').toString('base64')}`
    })
  })

  test('sends nothing without uses, and begins a new half minute with the next use', async () => {
    reporter.count('grant', 'list_files', 1)
    await endPause(1)
    expect(timers).toEqual([])
    reporter.count('grant', 'list_files', 5)
    await until(() => timers.length === 1)
    await endPause(2)
    expect(received[1]?.report.uses).toMatchObject([{ count: 5 }])
    expect(received[1]?.report.report_id).not.toBe(received[0]?.report.report_id)
  })

  test('sends 1,001 sums in three reports', async () => {
    for (let grant = 0; grant < 1_001; grant += 1) reporter.count(`grant-${grant}`, 'list_files', 1)
    await endPause(3)
    expect(received.map(({ report }) => report.uses.length)).toEqual([500, 500, 1])
  })

  test.each([{ status: 503 }, { status: 401 }, { status: 429 }, { status: 500 }])(
    'after $status repeats the report with its id, with growing pauses, and keeps later uses',
    async ({ status }) => {
      answers = [{ status }, { status }]
      reporter.count('grant', 'list_files', 1)
      await endPause(1)
      expect(await nextPause()).toBe(60_000)
      reporter.count('grant', 'list_files', 10)
      await endPause(2)
      expect(await nextPause()).toBe(120_000)
      await endPause(3)
      expect(received.map(({ report }) => report)).toEqual(Array(3).fill(received[0]?.report))
      expect(await nextPause()).toBe(30_000)
      await endPause(4)
      expect(received[3]?.report.uses).toMatchObject([{ count: 10 }])
      expect(events()).toEqual(['uses_not_reported'])
    }
  )

  test('repeats a report whose connection broke with its id', async () => {
    answers = ['silence']
    reporter.count('grant', 'list_files', 1)
    await endPause(1)
    server.closeAllConnections()
    await nextPause()
    await endPause(2)
    expect(received[1]?.report).toEqual(received[0]?.report)
  })

  test('pauses for five minutes at most', async () => {
    answers = Array(6).fill({ status: 503 })
    reporter.count('grant', 'list_files', 1)
    for (let report = 1; report <= 6; report += 1) {
      await nextPause()
      await endPause(report)
    }
    expect(await nextPause()).toBe(300_000)
  })

  test.each([{ status: 400 }, { status: 413 }, { status: 415 }])(
    'drops a report that the server refuses with $status, and sends the next one',
    async ({ status }) => {
      answers = [{ status }]
      for (let grant = 0; grant < 501; grant += 1) reporter.count(`grant-${grant}`, 'list_files', 1)
      await endPause(2)
      expect(received[1]?.report.uses).toHaveLength(1)
      expect(events()).toEqual(['uses_not_reported'])
    }
  )

  test.each([{ status: 403 }, { status: 404 }, { status: 405 }])(
    'rests for ten minutes without the endpoint ($status), and says it once',
    async ({ status }) => {
      answers = [{ status }, { status }]
      for (let grant = 0; grant < 501; grant += 1) reporter.count(`grant-${grant}`, 'list_files', 1)
      await endPause(1)
      await until(() => events().length === 1)
      reporter.count('grant', 'list_files', 1)
      expect(timers).toEqual([])
      present += 600_000
      reporter.count('grant', 'list_files', 1)
      await until(() => timers.length === 1)
      await endPause(2)
      expect(received[1]?.report.uses).toHaveLength(1)
      // The second rest begins when the reporter has read the response.
      await until(() => {
        present += 600_000
        reporter.count('grant', 'list_files', 7)
        return timers.length === 1
      })
      await endPause(3)
      expect(events()).toEqual(['uses_no_endpoint'])
    }
  )

  test('does not count an action that is not declared for ten minutes, and counts others', async () => {
    answers = [{ status: 200, body: { ignored: [{ row: 0, reason: 'unknown_action' }] } }]
    reporter.count('grant', 'invent', 1)
    await endPause(1)
    await until(() => events().includes('uses_unknown_action'))
    reporter.count('grant', 'invent', 1)
    reporter.count('grant', 'list_files', 1)
    await until(() => timers.length === 1)
    await endPause(2)
    expect(received[1]?.report.uses.map(({ action }) => action)).toEqual(['list_files'])
    present += 600_000
    reporter.count('grant', 'invent', 3)
    await until(() => timers.length === 1)
    await endPause(3)
    expect(received[2]?.report.uses).toMatchObject([{ action: 'invent', count: 3 }])
  })

  test.each([
    { name: 'a negative count', action: 'list_files', count: -1 },
    { name: 'a fraction', action: 'list_files', count: 1.5 },
    { name: 'no number', action: 'list_files', count: Number.NaN },
    { name: 'a text', action: 'list_files', count: '7' as unknown as number },
    { name: 'a huge count', action: 'list_files', count: 1_000_000_001 },
    { name: 'another name', action: 'List files', count: 1 }
  ])('ignores $name, and says it once', ({ action, count }) => {
    reporter.count('grant', action, count)
    reporter.count('grant', action, count)
    expect([timers, events()]).toEqual([[], ['use_not_counted']])
  })

  test('ignores a token without a grant', () => {
    reporter.count(undefined, 'list_files', 1)
    expect(timers).toEqual([])
  })
})

describe('the end of the reporter of uses', () => {
  test('reports what was counted, and counts no more', async () => {
    reporter.count('grant', 'list_files', 4)
    await reporter.close()
    expect(received.map(({ report }) => report.uses)).toMatchObject([[{ count: 4 }]])
    reporter.count('grant', 'list_files', 4)
    await reporter.close()
    expect(received).toHaveLength(1)
  })

  test('repeats the report that failed before, and then reports the rest', async () => {
    answers = [{ status: 503 }]
    reporter.count('grant', 'list_files', 1)
    await endPause(1)
    await nextPause()
    reporter.count('grant', 'list_files', 2)
    await reporter.close()
    expect(received.map(({ report }) => report.uses[0]?.count)).toEqual([1, 1, 2])
    expect(received[1]?.report.report_id).toBe(received[0]?.report.report_id)
  })

  test('without uses sends nothing', async () => {
    await reporter.close()
    expect(received).toEqual([])
  })

  test('comes although the server does not respond', async () => {
    answers = ['silence']
    reporter.count('grant', 'list_files', 1)
    await reporter.close()
    expect(received).toHaveLength(1)
  })
})
