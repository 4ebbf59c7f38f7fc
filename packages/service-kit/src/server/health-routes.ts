import type { FastifyPluginAsync } from 'fastify'
import type { Readiness } from './readiness.js'

/**
 * `GET /livez`: the process runs. `GET /readyz`: 200 if this process should get requests, else 503, with the result of each
 * check.
 */
export const healthRoutes: FastifyPluginAsync<{ readiness: () => Promise<Readiness> }> = async (
  server,
  { readiness }
) => {
  server.get('/livez', async () => ({ status: 'ok' }))

  server.get('/readyz', async (_request, reply) => {
    const result = await readiness()
    const isReady = result.status === 'ok' || result.status === 'degraded'
    reply.code(isReady ? 200 : 503).header('cache-control', 'no-store')
    return result
  })
}
