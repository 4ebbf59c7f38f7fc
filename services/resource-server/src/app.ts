import { randomUUID } from 'node:crypto'
import openApi from '@fastify/swagger'
import { createGuard, type GuardOptions, type Introspector } from '@valetkey/guard'
import { bearerPlugin } from '@valetkey/guard/fastify'
import { readTraceContext } from '@valetkey/oauth-protocol'
import {
  allowAnyOrigin,
  buildServer,
  createReadiness,
  groupRoutes,
  type HealthChecks,
  healthRoutes,
  inGroup,
  type Logger,
  metricsRoute,
  preflightRoutes
} from '@valetkey/service-kit'
import type { FastifyInstance } from 'fastify'
import { type ChooseDeps, chooseAssets, chooseRoutes } from './choose/routes.js'
import { SCOPE_MEANINGS, SCOPE_NAMES, SELECTION_TYPE } from './files/file-scopes.js'
import type { ListFilesDeps } from './files/list-files.js'
import { PARAMETER_RULES } from './files/list-files-schema.js'
import { fileRoutes } from './files/routes.js'
import { openApiRoute } from './http/open-api-route.js'
import { openApiSettings } from './http/open-api-settings.js'
import { notFoundHandler } from './http/send-not-found.js'
import { problemErrorHandler } from './http/send-problem-for-error.js'
import type { ServerMetrics } from './platform/metrics/server-metrics.js'
import { watchProofs } from './platform/metrics/watch-guard.js'

export type AppOptions = {
  issuer: string
  resourceUrl: string
  trustedProxies: readonly string[] | undefined
  dpop: 'off' | 'allowed' | 'required'
  dpopNonces: 'off' | 'required'
  /** Where the guard reports what apps list; undefined: nowhere. */
  activity?: GuardOptions['activity'] | undefined
  /** Nonces are made with keys that are derived from these. */
  pageTokenKeys: readonly string[]
  logger: Logger
  draining?: AbortSignal
}

/** The dependencies of each surface; `start.ts` creates them. */
export type AppDeps = {
  watched: ServerMetrics
  introspector: Introspector
  files: ListFilesDeps
  choose: Pick<ChooseDeps, 'handOvers' | 'selections' | 'shownFiles' | 'keys'>
  /** Postgres's clock. */
  now: () => Date
  health: HealthChecks
}

export type App = { publicServer: FastifyInstance; operatorServer: FastifyInstance }

/** The map of all surfaces: two listeners, and the routes of each. */
export function buildApp(options: AppOptions, deps: AppDeps): App {
  const { issuer, resourceUrl, trustedProxies, logger, draining } = options
  const { watched } = deps
  const choosing = { issuer, resourceUrl, ...deps.choose, newId: randomUUID, now: deps.now }
  const prefix = new URL(resourceUrl).pathname.replace(/\/$/, '')

  // Third-party clients.
  const meter = watched.http('public')
  const publicServer = buildServer({ logger, trustedProxies, readTrace: readTraceContext, draining, meter })
  ignoreBodies(publicServer)
  publicServer.setErrorHandler(problemErrorHandler(PARAMETER_RULES))
  publicServer.setNotFoundHandler(notFoundHandler(publicServer))
  // The metadata that the guard registers, preflight requests, and the OpenAPI document.
  groupRoutes(publicServer, 'static')
  // Not the pages for users.
  allowAnyOrigin(publicServer, BROWSER_HEADERS, (path) => !path.startsWith(`${prefix}/choose`))
  preflightRoutes(publicServer, BROWSER_HEADERS, [{ path: `${prefix}/v1/files`, methods: 'GET, HEAD' }])
  publicServer.register(openApi, openApiSettings({ issuer, resourceUrl, scopes: SCOPE_MEANINGS }))
  const guard = createGuard({
    issuer,
    resource: resourceUrl,
    realm: 'files',
    scopesSupported: SCOPE_NAMES,
    authorizationDetailTypes: [SELECTION_TYPE],
    introspection: deps.introspector,
    now: deps.now,
    log: logger,
    onRefusal: watched.tokenRefused,
    ...dpopOf(options),
    ...(options.activity && { activity: options.activity })
  })
  // Before the connections of the introspector, which `start.ts` closes: the last uses are reported.
  publicServer.addHook('onClose', () => guard.close())
  watchProofs(watched.metrics, guard)
  publicServer.register(bearerPlugin, { guard })
  publicServer.register(inGroup('files', fileRoutes), { prefix, ...deps.files, countUse: guard.countUse })
  publicServer.register(inGroup('files', chooseRoutes), { prefix, ...choosing })
  publicServer.register(inGroup('static', chooseAssets), { prefix })
  publicServer.register(openApiRoute, { prefix })

  // Operators only.
  const operatorServer = buildServer({ logger, meter: watched.http('operator') })
  operatorServer.register(inGroup('health', healthRoutes), {
    readiness: createReadiness({ checks: deps.health, draining })
  })
  operatorServer.register(inGroup('health', metricsRoute), { metrics: watched.metrics })

  return { publicServer, operatorServer }
}

function dpopOf({ dpop, dpopNonces, pageTokenKeys }: AppOptions): Pick<GuardOptions, 'dpop'> {
  if (dpop === 'off') return {}
  return { dpop: { mode: dpop, ...(dpopNonces === 'required' && { nonceKeys: pageTokenKeys }) } }
}

/** A script needs `If-None-Match` for a 304 (contract §4). */
const BROWSER_HEADERS = {
  exposed: 'www-authenticate, dpop-nonce, etag, retry-after, x-request-id',
  allowed: 'authorization, if-none-match'
}

/** No route reads a body. A request with a body must get 405 for a wrong method, not 415. */
function ignoreBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(null)
  })
}
