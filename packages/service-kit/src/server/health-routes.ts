import type { FastifyPluginAsync } from 'fastify'
import { withTimeLimit } from '../process/with-time-limit.js'
import type { StoreProblem } from '../stores/store-problem.js'
import { problemOf } from '../stores/store-unavailable.js'

/** Resolves when the dependency answers. */
export type Probe = () => Promise<unknown>

/**
 * A dependency of this process; a plain function means `needed: 'always'`. `'at start'`: a process that has never reached it
 * is not ready, so that a wrong address or secret stops a roll-out. A process that has reached it stays ready, because an
 * outage that all processes share must not remove all of them from the load balancer. `'never'`: reported only. A problem
 * that only a changed setting can fix makes a process unready, except with `'never'`.
 */
export type HealthCheck = Probe | { needed: 'always' | 'at start' | 'never'; probe: Probe }

export type HealthChecks = Readonly<Record<string, HealthCheck>>

export type HealthRouteOptions = {
  checks: HealthChecks
  /** Aborted when the process is about to stop, so that it gets no new requests. */
  draining?: AbortSignal | undefined
}

const CHECK_TIME_LIMIT_MS = 2_000

/**
 * `GET /livez`: the process runs. `GET /readyz`: 200 if this process should get requests, else 503, with the result of each
 * check. `reasons` has fixed words for stores that fail.
 */
export const healthRoutes: FastifyPluginAsync<HealthRouteOptions> = async (server, { checks, draining }) => {
  const reached = new Set<string>()

  server.get('/livez', async () => ({ status: 'ok' }))

  server.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    if (draining?.aborted) {
      reply.code(503)
      return { status: 'draining', checks: {} }
    }
    const results = await Promise.all(Object.entries(checks).map(runCheck))
    const isUnready = results.some(({ isFatal }) => isFatal)
    const isDegraded = results.some(({ answer }) => answer !== 'ok')
    reply.code(isUnready ? 503 : 200)
    const status = isUnready ? 'unavailable' : isDegraded ? 'degraded' : 'ok'
    const reasons = results.flatMap(({ name, problem }) => (problem === undefined ? [] : [[name, problem.reason]]))
    return {
      status,
      checks: Object.fromEntries(results.map(({ name, answer }) => [name, answer])),
      ...(reasons.length > 0 && { reasons: Object.fromEntries(reasons) })
    }
  })

  async function runCheck([name, check]: [string, HealthCheck]) {
    const { needed, probe } = typeof check === 'function' ? { needed: 'always', probe: check } : check
    const { answer, problem } = await answerOf(probe)
    if (answer === 'ok') reached.add(name)
    const isNeeded =
      needed === 'always' || (needed === 'at start' && (!reached.has(name) || problem?.isSetting === true))
    return { name, answer, problem, isFatal: isNeeded && answer !== 'ok' }
  }
}

type Answer = { answer: 'ok' | 'unavailable'; problem?: StoreProblem | undefined }

async function answerOf(probe: Probe): Promise<Answer> {
  try {
    await answerInTime(probe)
    return { answer: 'ok' }
  } catch (error) {
    return { answer: 'unavailable', problem: problemOf(error) }
  }
}

/** @returns the result of the probe. @throws its error, or an error when it takes longer than 2 seconds */
export async function answerInTime(probe: Probe): Promise<unknown> {
  return withTimeLimit(CHECK_TIME_LIMIT_MS, probe(), () => {
    throw new Error('timeout: no answer')
  })
}
