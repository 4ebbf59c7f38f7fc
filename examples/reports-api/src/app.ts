import { bearerPlugin } from '@valetkey/guard/fastify'
import { type FastifyInstance, fastify } from 'fastify'
import type { Config } from './config.js'

const REPORTS = [
  { title: 'October', pages: 12 },
  { title: 'November', pages: 9 }
]

export async function buildApp({ issuer, resource, introspection }: Config): Promise<FastifyInstance> {
  const app = fastify()
  await app.register(bearerPlugin, { issuer, resource, introspection, scopesSupported: ['reports.read'] })

  app.get('/reports', { onRequest: app.requireAccessToken('reports.read') }, async ({ accessToken }) => {
    return { owner: accessToken.subject, reports: REPORTS }
  })
  return app
}
