import cookie from '@fastify/cookie'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Config } from './config.js'
import { discoverOnce } from './connect/authorization-server.js'
import { accessRenewal } from './connect/renew-access.js'
import { connectRoutes } from './connect/routes.js'
import { filesFrom } from './files/fetch-files.js'
import { filesRoutes } from './files/routes.js'
import { answerErrors } from './http/errors.js'
import { type LogStream, logOptions } from './http/log-options.js'
import { keepToOwnAddress, refuseForeignForms } from './http/own-address.js'
import { addSecurityHeaders } from './http/security-headers.js'
import { assetRoutes } from './pages/asset-routes.js'
import { startRoute } from './pages/start-route.js'
import { registerViews } from './pages/views.js'
import { browserSessions } from './session/browser-session.js'
import { memorySessions } from './session/session-store.js'

export type AppParts = { logStream?: LogStream; now?: () => number }

/** The map: everything this app consists of, in order. */
export async function buildApp(config: Config, parts: AppParts = {}): Promise<FastifyInstance> {
  const { logStream = process.stdout, now = Date.now } = parts
  const app = Fastify({ logger: logOptions(logStream), bodyLimit: 4_096 })

  const discover = discoverOnce(config)
  const sessions = browserSessions(memorySessions(now), { secure: config.baseUrl.protocol === 'https:' })
  const fetchFiles = filesFrom(config.resourceUrl)
  const renewAccess = accessRenewal({ discover, now })

  await registerViews(app)
  await app.register(cookie)
  addSecurityHeaders(app, config.issuer)
  keepToOwnAddress(app, config.baseUrl)
  refuseForeignForms(app, config.baseUrl)
  answerErrors(app)
  acceptEmptyForms(app)

  await app.register(assetRoutes)
  await app.register(startRoute, { sessions })
  await app.register(connectRoutes, { sessions, discover, redirectUri: config.redirectUri, now })
  await app.register(filesRoutes, { sessions, fetchFiles, renewAccess, now })
  return app
}

/** Our forms are buttons without fields: their bodies are accepted and ignored. */
function acceptEmptyForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, async () => undefined)
}
