import type { Check } from './check.js'
import type { Exchange } from './http.js'
import { CouldNotTest, NotApplicable } from './outcome.js'
import { redactExchange, redactValues, type ShownExchange } from './redact.js'
import { createSessions, missingNeed, type RunSettings } from './session.js'

/** `expected`: it failed, and the caller's file says so. `stale`: the file says so, and it passed. */
type Status = 'passed' | 'failed' | 'expected' | 'stale' | 'skipped' | 'not tested'

export type Result = {
  check: Check
  status: Status
  /** Why, unless it passed. */
  message: string
  exchanges: readonly ShownExchange[]
}

export type Report = { issuer: string; profile: string; results: readonly Result[] }

/** Runs checks one after another. Secrets of the run are in no result. */
export async function runChecks(
  checks: readonly Check[],
  run: RunSettings,
  expectedFailures: ReadonlySet<string>
): Promise<Report> {
  const secrets = new Set<string>()
  const newSession = createSessions(run, secrets)
  const raw: { check: Check; status: Status; message: string; record: Exchange[] }[] = []
  for (const check of checks) {
    const record: Exchange[] = []
    const missing = missingNeed(check.needs ?? [], run)
    const done = missing === undefined ? await runOne(check, newSession(record)) : skipped(missing)
    raw.push({ check, record, ...compare(done, expectedFailures.has(check.id)) })
  }
  // Secrets are removed at the end, when all of them are known.
  const results = raw.map(({ record, message, ...rest }) => ({
    ...rest,
    message: redactValues(message, secrets),
    exchanges: record.map((exchange) => redactExchange(exchange, secrets))
  }))
  return { issuer: run.issuer, profile: run.profile, results }
}

type Done = { status: Status; message: string }

const skipped = (message: string): Done => ({ status: 'skipped', message })

async function runOne(check: Check, session: Parameters<Check['run']>[0]): Promise<Done> {
  try {
    const outcome = await check.run(session)
    return outcome.kind === 'passed'
      ? { status: 'passed', message: '' }
      : { status: 'failed', message: outcome.message }
  } catch (error) {
    if (error instanceof NotApplicable) return skipped(error.message)
    if (error instanceof CouldNotTest) return { status: 'not tested', message: error.message }
    throw error
  }
}

function compare({ status, message }: Done, isExpected: boolean): Done {
  if (!isExpected) return { status, message }
  if (status === 'failed') return { status: 'expected', message }
  if (status === 'passed') return { status: 'stale', message: 'it passed; remove it from the expected failures' }
  return { status, message }
}

/** 0: at least one check passed and none failed. 1: a check failed, or an expected failure passed. 2: something could not be tested. */
export function exitCodeOf({ results }: Report): 0 | 1 | 2 {
  const has = (...statuses: readonly Status[]) => results.some(({ status }) => statuses.includes(status))
  if (has('failed', 'stale')) return 1
  return has('not tested') || !has('passed', 'expected') ? 2 : 0
}

/** @example countsOf(report) // { passed: 40, failed: 1, … } */
export function countsOf({ results }: Report): Record<Status, number> {
  const counts = { passed: 0, failed: 0, expected: 0, stale: 0, skipped: 0, 'not tested': 0 }
  for (const { status } of results) counts[status] += 1
  return counts
}
