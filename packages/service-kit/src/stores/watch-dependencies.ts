import { type HealthCheck, type HealthChecks, type Probe, resultInTime } from '../server/readiness.js'
import { problemOfConnection, type StoreProblem } from './store-problem.js'
import type { StoreState } from './store-state.js'
import { problemOf } from './store-unavailable.js'

const INTERVAL_MS = 5_000
const INTERVAL_WHILE_DOWN_MS = 1_000

/**
 * Reports the results of probes to the state of each dependency: at each request to `/readyz`, and every few seconds, so that
 * log and gauge are current without requests.
 * @param states by the name of the check
 */
export function watchDependencies(checks: HealthChecks, states: Readonly<Record<string, StoreState>>) {
  const timers = new Set<NodeJS.Timeout>()
  let isStopped = false

  function watched(name: string, check: HealthCheck): HealthCheck {
    const state = states[name]
    if (state === undefined) return check
    const { needed, probe } = typeof check === 'function' ? { needed: 'always' as const, probe: check } : check
    return { needed, probe: () => observe(state, probe, () => isStopped) }
  }

  async function repeat(state: StoreState, probe: Probe): Promise<void> {
    await probe().catch(() => {})
    if (isStopped) return
    const timer = setTimeout(
      () => {
        timers.delete(timer)
        void repeat(state, probe)
      },
      state.isUp() ? INTERVAL_MS : INTERVAL_WHILE_DOWN_MS
    )
    timers.add(timer.unref())
  }

  const all = Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, watched(name, check)]))

  return {
    /** The same checks, for `/readyz`. */
    checks: all as HealthChecks,

    start(): void {
      for (const [name, state] of Object.entries(states)) {
        const check = all[name]
        if (check !== undefined) void repeat(state, typeof check === 'function' ? check : check.probe)
      }
    },

    stop(): void {
      isStopped = true
      for (const timer of timers) clearTimeout(timer)
    }
  }
}

async function observe(state: StoreState, probe: Probe, isStopped: () => boolean): Promise<unknown> {
  try {
    const result = await resultInTime(probe)
    state.probed()
    return result
  } catch (error) {
    // Probes fail while stores are closing; that is not a problem to report.
    if (!isStopped()) state.failed(problemOf(error) ?? otherProblem(error))
    throw error
  }
}

/** Returns the problem of a dependency that is not a store: it may have sent an unexpected response. */
function otherProblem(error: unknown): StoreProblem {
  const problem = problemOfConnection(error)
  return problem.reason === 'cannot be reached' ? { reason: 'does not respond as expected' } : problem
}
