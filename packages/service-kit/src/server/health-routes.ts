import type { FastifyPluginAsync } from 'fastify'
import type { StoreProblem } from '../stores/store-problem.js'
import { problemOf } from '../stores/store-unavailable.js'

/** Resolves when the dependency answers. */
export type Probe = () => Promise<unknown>

/**
 * A dependency of this process. A function alone is one without which nothing works. `needed: 'at start'`: an instance that
 * has never reached it is not ready, so that a wrong address or secret stops a roll-out; one that has is, for what all
 * instances miss must not take all of them from the balancer. `'never'`: it is told, and decides nothing. What fails
 * because of a setting makes a process unready in any case but the last: waiting does not mend it.
 */
export type HealthCheck = Probe | { needed: 'always' | 'at start' | 'never'; probe: Probe }

export type HealthChecks = Readonly<Record<string, HealthCheck>>

export type HealthRouteOptions = {
  checks: HealthChecks
  /** Aborted once the process is about to stop: it finishes what it has, and should get nothing more. */
  draining?: AbortSignal | undefined
}

const CHECK_TIME_LIMIT_MS = 2_000

/**
 * `GET /livez`: the process runs. `GET /readyz`: 200 where requests should be sent to this process, else 503; and dependency
 * by dependency what answers. `reasons` says why a store does not, in fixed words.
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
    const results = await Promise.all(Object.entries(checks).map(look))
    const isUnready = results.some(({ isMissed }) => isMissed)
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

  async function look([name, check]: [string, HealthCheck]) {
    const { needed, probe } = typeof check === 'function' ? { needed: 'always', probe: check } : check
    const { answer, problem } = await answerOf(probe)
    if (answer === 'ok') reached.add(name)
    const isNeeded =
      needed === 'always' || (needed === 'at start' && (!reached.has(name) || problem?.isSetting === true))
    return { name, answer, problem, isMissed: isNeeded && answer !== 'ok' }
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

/** What the probe answers. @throws what it throws, or after 2 seconds that there was no answer in time */
export async function answerInTime(probe: Probe): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const timeLimit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('timeout: no answer')), CHECK_TIME_LIMIT_MS)
  })
  try {
    return await Promise.race([probe(), timeLimit])
  } finally {
    clearTimeout(timer)
  }
}
