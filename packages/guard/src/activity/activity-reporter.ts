import { Pool } from 'undici/index.js'
import { basicCredentials } from '../encode-basic-credentials.js'
import type { GuardLog } from '../guard/token-guard.js'
import { postForm } from '../introspection/post-form.js'
import type { ReportingOptions } from './activity-options.js'
import { createUseCounter } from './use-counter.js'
import { toReports, type UseReport, unknownActions } from './use-reports.js'

export type ActivityReporter = {
  /** Adds to the sum of this grant and action. Never throws. */
  count(grantId: string | undefined, action: string, count: number): void
  /** Sends what has been counted, for two seconds at most. Later uses are not counted. */
  close(): Promise<void>
}

const INTERVAL_MS = 30_000
const LONGEST_PAUSE_MS = 300_000
/** Without the endpoint, or for an action that it does not know. */
const REST_MS = 600_000
/** A server that waits for Postgres responds within this time. */
const CALL_LIMIT_MS = 5_000
const CLOSE_LIMIT_MS = 2_000
const LARGEST_RESPONSE = 128 * 1024
/** 403 as well, because a proxy may allow only introspection. */
const WITHOUT_ENDPOINT = [403, 404, 405]
/** The report is wrong, so a repetition is useless. */
const REFUSED = [400, 413, 415]

const ACTION = /^[a-z][a-z0-9_]{0,63}$/
const MOST_ITEMS = 1_000_000_000

type Sent = 'received' | 'refused' | 'no_endpoint' | 'failed'

/**
 * Sums uses in memory, and reports them half a minute after the first one. A report that fails is sent again with its id; what is
 * counted meanwhile waits. An action that no operator declared is not counted for ten minutes, nor is anything if the server has no
 * such endpoint.
 * @param now the clock of `last_at`
 */
export function createActivityReporter(
  options: ReportingOptions,
  { now, log }: { now: () => Date; log: GuardLog | undefined }
): ActivityReporter {
  const { origin, pathname, search } = new URL(options.url)
  const pool = new Pool(origin, { connections: 1, connect: { timeout: CALL_LIMIT_MS } })
  const headers = { authorization: basicCredentials(options), 'content-type': 'application/json' }
  const counter = createUseCounter()
  /** By action; the times are those of `performance.now()`. */
  const resting = new Map<string, number>()
  const warned = new Set<string>()
  let restUntil = 0
  let pending: UseReport[] = []
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let reporting: Promise<void> | undefined
  let deadline = Number.POSITIVE_INFINITY

  const isClosed = () => deadline !== Number.POSITIVE_INFINITY

  function warnOnce(event: string, members: object, message: string): void {
    if (warned.has(event)) return
    warned.add(event)
    log?.warn({ event, ...members }, message)
  }

  function arm(): void {
    if (timer !== undefined || reporting !== undefined || isClosed()) return
    const pause = Math.min(INTERVAL_MS * 2 ** failures, LONGEST_PAUSE_MS)
    timer = startTimer(() => {
      timer = undefined
      start()
    }, pause)
  }

  function start(): Promise<void> {
    reporting ??= report().finally(() => {
      reporting = undefined
      if (pending.length > 0 || !counter.isEmpty()) arm()
    })
    return reporting
  }

  async function report(): Promise<void> {
    if (pending.length === 0) pending = take()
    for (let next = pending[0]; next !== undefined; next = pending[0]) {
      const outcome = await send(next)
      if (outcome === 'failed') {
        failures += 1
        return
      }
      failures = 0
      pending = outcome === 'no_endpoint' ? [] : pending.slice(1)
    }
  }

  function take(): UseReport[] {
    const { uses, lost } = counter.take()
    if (lost > 0) log?.warn({ event: 'uses_lost', lost }, 'too many uses to count them all')
    return toReports(uses)
  }

  async function send(report: UseReport): Promise<Sent> {
    const request = { path: pathname + search, headers, body: report.body, largestResponse: LARGEST_RESPONSE }
    const limitMs = Math.min(CALL_LIMIT_MS, deadline - performance.now())
    try {
      const { statusCode: status, body } = await postForm(pool, request, limitMs)
      if (status === 200) return received(body, report)
      if (WITHOUT_ENDPOINT.includes(status)) return rest(status)
      const members = { event: 'uses_not_reported', status }
      if (failures === 0) log?.warn(members, 'the authorization server did not accept a report of uses')
      return REFUSED.includes(status) ? 'refused' : 'failed'
    } catch (error) {
      if (failures === 0) log?.warn({ event: 'uses_not_reported', err: error }, 'uses were not reported; trying again')
      return 'failed'
    }
  }

  function received(body: string, report: UseReport): Sent {
    for (const action of unknownActions(body, report)) {
      resting.set(action, performance.now() + REST_MS)
      const message = 'no operator declared this action for this API: valetkey resource-servers update --action'
      warnOnce('uses_unknown_action', { action }, message)
    }
    return 'received'
  }

  function rest(status: number): Sent {
    restUntil = performance.now() + REST_MS
    counter.take()
    warnOnce('uses_no_endpoint', { status }, 'the authorization server has no endpoint for uses')
    return 'no_endpoint'
  }

  function isResting(action: string): boolean {
    if (restUntil === 0 && resting.size === 0) return false
    const time = performance.now()
    return time < restUntil || time < (resting.get(action) ?? 0)
  }

  return {
    count(grantId, action, count) {
      if (grantId === undefined || isClosed()) return
      const isCountable = Number.isInteger(count) && count >= 0 && count <= MOST_ITEMS && ACTION.test(action)
      if (!isCountable) return warnOnce('use_not_counted', { action, count }, 'not the name of an action, or no count')
      if (isResting(action)) return
      counter.add(grantId, action, count, now().getTime())
      arm()
    },
    async close() {
      if (isClosed()) return
      deadline = performance.now() + CLOSE_LIMIT_MS
      clearTimeout(timer)
      await Promise.race([lastReports(), afterMs(CLOSE_LIMIT_MS)])
      await pool.destroy()
    }
  }

  /** The running one may have begun before the last uses. */
  async function lastReports(): Promise<void> {
    await reporting
    await start()
    // The first may have repeated an earlier report.
    if (pending.length === 0 && !counter.isEmpty()) await start()
  }
}

function afterMs(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void startTimer(resolve, milliseconds))
}

/** It does not keep the process running, where the runtime can say so. In Deno, a timer is a number. */
function startTimer(run: () => void, milliseconds: number): NodeJS.Timeout {
  const timer = setTimeout(run, milliseconds)
  timer.unref?.()
  return timer
}
