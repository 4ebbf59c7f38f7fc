import type { FastifyPluginAsync } from 'fastify'

/** One probe a dependency; it resolves when the dependency answers. */
export type HealthChecks = Readonly<Record<string, () => Promise<unknown>>>

const CHECK_TIME_LIMIT_MS = 2_000

/** `GET /livez`: the process runs. `GET /readyz`: every dependency answers; 503 and which one, otherwise. */
export const healthRoutes: FastifyPluginAsync<{ checks: HealthChecks }> = async (server, { checks }) => {
  server.get('/livez', async () => ({ status: 'ok' }))

  server.get('/readyz', async (_request, reply) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await probe(check)] as const)
    )
    const ready = results.every(([, result]) => result === 'ok')
    reply.code(ready ? 200 : 503).header('cache-control', 'no-store')
    return { status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) }
  })
}

async function probe(check: () => Promise<unknown>): Promise<'ok' | 'unavailable'> {
  let timer: NodeJS.Timeout | undefined
  const timeLimit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), CHECK_TIME_LIMIT_MS)
  })
  try {
    await Promise.race([check(), timeLimit])
    return 'ok'
  } catch {
    return 'unavailable'
  } finally {
    clearTimeout(timer)
  }
}
