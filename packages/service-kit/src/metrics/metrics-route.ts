import type { FastifyPluginAsync } from 'fastify'
import type { Metrics } from './metrics.js'

/** `GET /metrics` in Prometheus's text format. Calls no dependency, so it works during any outage. */
export const metricsRoute: FastifyPluginAsync<{ metrics: Metrics }> = async (server, { metrics }) => {
  server.get('/metrics', { config: { isRoutine: true } }, async (_request, reply) => {
    reply.header('cache-control', 'no-store').type(metrics.contentType)
    return metrics.expose()
  })
}
