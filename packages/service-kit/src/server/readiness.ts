import { withTimeLimit } from '../process/with-time-limit.js'
import type { StoreProblem } from '../stores/store-problem.js'
import { problemOf } from '../stores/store-unavailable.js'

/** Resolves when the dependency responds. */
export type Probe = () => Promise<unknown>

/**
 * A dependency of this process; a plain function means `needed: 'always'`. `'at start'`: a process that has never reached it
 * is not ready, so that a wrong address or secret stops a roll-out. A process that has reached it stays ready, because an
 * outage that all processes share must not remove all of them from the load balancer. `'never'`: reported only. A problem
 * that only a changed setting can fix makes a process unready, except with `'never'`.
 */
export type HealthCheck = Probe | { needed: 'always' | 'at start' | 'never'; probe: Probe }

export type HealthChecks = Readonly<Record<string, HealthCheck>>

export type ReadinessOptions = {
  checks: HealthChecks
  /** Aborted when the process is about to stop, so that it gets no new requests. */
  draining?: AbortSignal | undefined
}

/** The body of `/readyz`. `reasons` has fixed words for stores that fail. */
export type Readiness = {
  status: 'ok' | 'degraded' | 'unavailable' | 'draining'
  checks: Readonly<Record<string, 'ok' | 'unavailable'>>
  reasons?: Readonly<Record<string, string>>
}

const CHECK_TIME_LIMIT_MS = 2_000

/** @returns a function that runs all checks and never rejects */
export function createReadiness({ checks, draining }: ReadinessOptions): () => Promise<Readiness> {
  const reached = new Set<string>()

  async function runCheck([name, check]: [string, HealthCheck]) {
    const { needed, probe } = typeof check === 'function' ? { needed: 'always', probe: check } : check
    const { status, problem } = await resultOf(probe)
    if (status === 'ok') reached.add(name)
    const isNeeded =
      needed === 'always' || (needed === 'at start' && (!reached.has(name) || problem?.isSetting === true))
    return { name, status, problem, isFatal: isNeeded && status !== 'ok' }
  }

  return async () => {
    if (draining?.aborted) return { status: 'draining', checks: {} }
    const results = await Promise.all(Object.entries(checks).map(runCheck))
    const isUnready = results.some(({ isFatal }) => isFatal)
    const isDegraded = results.some(({ status }) => status !== 'ok')
    const reasons = results.flatMap(({ name, problem }) => (problem === undefined ? [] : [[name, problem.reason]]))
    return {
      status: isUnready ? 'unavailable' : isDegraded ? 'degraded' : 'ok',
      checks: Object.fromEntries(results.map(({ name, status }) => [name, status])),
      ...(reasons.length > 0 && { reasons: Object.fromEntries(reasons) })
    }
  }
}

type ProbeResult = { status: 'ok' | 'unavailable'; problem?: StoreProblem | undefined }

async function resultOf(probe: Probe): Promise<ProbeResult> {
  try {
    await resultInTime(probe)
    return { status: 'ok' }
  } catch (error) {
    return { status: 'unavailable', problem: problemOf(error) }
  }
}

/** @returns the result of the probe. @throws its error, or an error when it takes longer than 2 seconds */
export async function resultInTime(probe: Probe): Promise<unknown> {
  return withTimeLimit(CHECK_TIME_LIMIT_MS, probe(), () => {
    throw new Error('timeout: no response')
  })
}
