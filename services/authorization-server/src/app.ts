import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import { parseParameters, serverMetadataPath } from '@valetkey/oauth-protocol'
import {
  buildServer,
  groupRoutes,
  type HealthChecks,
  healthRoutes,
  inGroup,
  type Logger,
  metricsRoute
} from '@valetkey/service-kit'
import type { FastifyInstance } from 'fastify'
import { type AccountRouteOptions, accountRoutes } from './browser/account/routes.js'
import { type AuthorizeRouteOptions, authorizeRoutes } from './browser/authorize/routes.js'
import { type ConsentRouteOptions, consentRoutes } from './browser/consent/routes.js'
import { type LoginRouteOptions, loginRoutes } from './browser/login/routes.js'
import { type SessionOptions, sessionPlugin } from './browser/session/session-plugin.js'
import type { RevocationChannel } from './feed/revocation-channel.js'
import { type FeedRouteOptions, feedRoutes } from './feed/routes.js'
import { allowAnyOrigin } from './http/allow-any-origin.js'
import { notFoundHandler } from './http/answer-not-found.js'
import { assetRoutes, type PagesOptions, pagesPlugin } from './http/pages.js'
import { pageErrorHandler } from './http/send-error-page.js'
import { oauthErrorHandler, unreadableOAuthError } from './http/send-oauth-error.js'
import { type AdminRouteOptions, adminRoutes } from './operator/http/routes.js'
import type { AuditTrail } from './platform/audit/audit-trail.js'
import type { ServerMetrics } from './platform/metrics/server-metrics.js'
import type { Usage } from './platform/usage.js'
import { errorRoutes } from './protocol/errors/routes.js'
import { type IntrospectionRouteOptions, introspectionRoutes } from './protocol/introspection/routes.js'
import { metadataRoutes } from './protocol/metadata/routes.js'
import { type RevocationRouteOptions, revocationRoutes } from './protocol/revocation/routes.js'
import type { CodeReturns } from './protocol/token/return-codes.js'
import { type TokenRouteOptions, tokenRoutes } from './protocol/token/routes.js'
import type { AccessTokenBuckets } from './storage/postgres/access-token-buckets.js'
import type { ScopeStore } from './storage/postgres/scopes.js'

/** What each surface needs; `wire.ts` makes it. */
export type AppDeps = {
  watched: ServerMetrics
  audit: AuditTrail
  usages: readonly Pick<Usage, 'close'>[]
  channel: RevocationChannel
  buckets: AccessTokenBuckets
  returns: CodeReturns
  pages: PagesOptions
  scopes: Pick<ScopeStore, 'list'>
  session: SessionOptions
  authorize: AuthorizeRouteOptions
  login: LoginRouteOptions
  consent: ConsentRouteOptions
  account: AccountRouteOptions
  token: TokenRouteOptions
  revocation: RevocationRouteOptions
  introspection: IntrospectionRouteOptions
  feed: FeedRouteOptions
  admin: AdminRouteOptions
  health: HealthChecks
}

export type App = { publicServer: FastifyInstance; internalServer: FastifyInstance; operatorServer: FastifyInstance }

/** The map: three listeners, and on each of them every surface in order. */
export function buildApp(
  options: { issuer: string; trustedProxies: readonly string[] | undefined; logger: Logger; draining?: AbortSignal },
  deps: AppDeps
): App {
  const { issuer, logger, trustedProxies, draining } = options
  const { watched } = deps
  const base = new URL(issuer).pathname.replace(/\/$/, '')
  const metadataPath = serverMetadataPath(issuer)

  // Browsers and third-party clients.
  const unreadable = unreadableOAuthError(issuer)
  const publicServer = buildServer({ logger, trustedProxies, unreadable, draining, meter: watched.http('public') })
  publicServer.register(pagesPlugin, deps.pages)
  publicServer.setErrorHandler(pageErrorHandler)
  const jsonPaths = [`${base}/token`, `${base}/oauth/revoke`, metadataPath]
  publicServer.setNotFoundHandler(notFoundHandler(publicServer, { issuer, jsonPaths }))
  publicServer.register(
    async (site) => {
      site.register(async (pages) => {
        groupRoutes(pages, 'sign_in')
        pages.removeAllContentTypeParsers()
        pages.register(formbody, { parser: parseParameters })
        pages.register(cookie)
        pages.register(sessionPlugin, deps.session)
        pages.register(authorizeRoutes, deps.authorize)
        pages.register(loginRoutes, deps.login)
        pages.register(consentRoutes, deps.consent)
        pages.register(accountRoutes, deps.account)
      })
      site.register(inGroup('static', errorRoutes))
      site.register(inGroup('static', assetRoutes), deps.pages)
      site.register(async (oauth) => {
        groupRoutes(oauth, 'token')
        oauthSurface(oauth, issuer, deps)
        allowAnyOrigin(oauth, [
          { path: '/token', method: 'POST' },
          { path: '/oauth/revoke', method: 'POST' }
        ])
        oauth.register(tokenRoutes, deps.token)
        oauth.register(revocationRoutes, deps.revocation)
      })
    },
    { prefix: base }
  )
  publicServer.register(async (oauth) => {
    groupRoutes(oauth, 'static')
    oauthSurface(oauth, issuer, deps)
    allowAnyOrigin(oauth, [{ path: metadataPath, method: 'GET' }])
    oauth.register(metadataRoutes, {
      issuer,
      path: metadataPath,
      languages: [...deps.pages.languages.keys()],
      scopes: deps.scopes
    })
  })

  // Resource servers only.
  const internalServer = buildServer({
    ...{ logger, unreadable, draining, meter: watched.http('internal') },
    keepsRequestId: true
  })
  oauthSurface(internalServer, issuer, deps)
  internalServer.setNotFoundHandler(notFoundHandler(internalServer, { issuer, jsonPaths: 'all' }))
  internalServer.register(inGroup('introspection', introspectionRoutes), deps.introspection)
  internalServer.register(inGroup('feed', feedRoutes), { ...deps.feed, draining })

  // Operators only.
  const operatorServer = buildServer({ logger, meter: watched.http('operator') })
  operatorServer.register(inGroup('health', healthRoutes), { checks: deps.health, draining })
  operatorServer.register(inGroup('admin', adminRoutes), { prefix: '/admin', ...deps.admin })
  operatorServer.register(inGroup('health', metricsRoute), { metrics: watched.metrics })

  return { publicServer, internalServer, operatorServer }
}

/** Form in, JSON out, errors in the words of RFC 6749 §5.2. A JSON body here is an invalid_request. */
function oauthSurface(oauth: FastifyInstance, issuer: string, { audit, watched }: AppDeps): void {
  oauth.removeAllContentTypeParsers()
  oauth.register(formbody, { parser: parseParameters })
  oauth.addHook('onRoute', (route) => {
    route.config = { ...route.config, answersPrograms: true }
  })
  oauth.decorateRequest('authenticatedClientId', undefined)
  oauth.decorateRequest('authenticatedSecretId', undefined)
  oauth.setErrorHandler(oauthErrorHandler({ issuer, audit, onRefusal: watched.refused }))
}
