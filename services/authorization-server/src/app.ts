import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import { parseParameters, readTraceContext, serverMetadataPath } from '@valetkey/oauth-protocol'
import {
  allowAnyOrigin,
  buildServer,
  createReadiness,
  groupRoutes,
  healthRoutes,
  inGroup,
  type Logger,
  metricsRoute,
  preflightRoutes,
  type watchDependencies
} from '@valetkey/service-kit'
import type { FastifyInstance } from 'fastify'
import { countForms } from './browser/account/count-forms.js'
import { passwordRoutes } from './browser/account/password-routes.js'
import { accountRoutes } from './browser/account/routes.js'
import { sessionRoutes } from './browser/account/session-routes.js'
import { authorizeRoutes } from './browser/authorize/routes.js'
import { consentRoutes } from './browser/consent/routes.js'
import { continueRoutes } from './browser/login/continue-routes.js'
import { loginRoutes } from './browser/login/routes.js'
import { logoRoutes, ownLogoRoutes } from './browser/logos/routes.js'
import { type SessionOptions, sessionPlugin } from './browser/session/session-plugin.js'
import { waysBack } from './browser/steps/ways-back.js'
import type { FeatureSurfaces, SignInParts } from './feature.js'
import { feedRoutes } from './feed/routes.js'
import { oauthSurface } from './http/oauth-surface.js'
import { openApiDocumentRoute } from './http/open-api-document-route.js'
import { assetRoutes, type PagesOptions, pagesPlugin } from './http/pages.js'
import type { RefusalObserver } from './http/refusal-observer.js'
import { pageErrorHandler } from './http/send-error-page.js'
import { notFoundHandler } from './http/send-not-found.js'
import { unreadableOAuthError } from './http/send-oauth-error.js'
import { unreadablePage } from './http/unreadable-page.js'
import { adminRoutes } from './operator/http/routes.js'
import { startPageRoutes } from './operator/start-page/routes.js'
import { unreadableOverview } from './operator/start-page/unreadable-page.js'
import type { AuditTrail } from './platform/audit/audit-trail.js'
import type { ServerMetrics } from './platform/metrics/server-metrics.js'
import { errorRoutes } from './protocol/errors/routes.js'
import { introspectionRoutes } from './protocol/introspection/routes.js'
import { metadataRoutes } from './protocol/metadata/routes.js'
import { revocationRoutes } from './protocol/revocation/routes.js'
import { tokenRoutes } from './protocol/token/routes.js'
import type { ScopeStore } from './storage/postgres/scopes.js'

/** The options of a plugin are the list of its needs. */
type OptionsOf<Plugin extends (server: FastifyInstance, options: never) => unknown> = Parameters<Plugin>[1]

export type PublicDeps = {
  pages: PagesOptions
  scopes: Pick<ScopeStore, 'list'>
  /** Whether a client id may be the URL of a metadata document. */
  discoversClients: boolean
  session: SessionOptions
  authorize: OptionsOf<typeof authorizeRoutes>
  login: OptionsOf<typeof loginRoutes>
  consent: OptionsOf<typeof consentRoutes>
  formCount: Parameters<typeof countForms>[1]
  account: OptionsOf<typeof accountRoutes>
  password: OptionsOf<typeof passwordRoutes>
  sessionList: OptionsOf<typeof sessionRoutes>
  logos: OptionsOf<typeof logoRoutes> & OptionsOf<typeof ownLogoRoutes>
  token: OptionsOf<typeof tokenRoutes>
  revocation: OptionsOf<typeof revocationRoutes>
}

/** What the surfaces need; `wire/` creates it. */
export type AppDeps = PublicDeps & {
  introspection: OptionsOf<typeof introspectionRoutes>
  feed: Omit<OptionsOf<typeof feedRoutes>, 'draining'>
  admin: Omit<OptionsOf<typeof adminRoutes>, 'features'>
  startPage: Omit<OptionsOf<typeof startPageRoutes>, 'readiness'>
  /** What features add to the surfaces. */
  features: readonly FeatureSurfaces[]
  audit: AuditTrail
  refusals: Pick<RefusalObserver, 'requestRefused'>
  watched: ServerMetrics
  dependencies: ReturnType<typeof watchDependencies>
}

type AppOptions = {
  issuer: string
  trustedProxies: readonly string[] | undefined
  logger: Logger
  draining?: AbortSignal
}

export type App = { publicServer: FastifyInstance; internalServer: FastifyInstance; operatorServer: FastifyInstance }

/** The map: three listeners, and the surfaces of each, in order. */
export function buildApp(options: AppOptions, deps: AppDeps): App {
  return {
    publicServer: buildPublicServer(options, deps),
    internalServer: buildInternalServer(options, deps),
    operatorServer: buildOperatorServer(options, deps)
  }
}

const BROWSER_HEADERS = {
  exposed: 'www-authenticate, dpop-nonce, retry-after, x-request-id',
  allowed: 'authorization, content-type, mcp-protocol-version'
}

const isAtOrBelow = (folder: string, path: string) =>
  path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/')

/** Builds the server for browsers and third-party clients. */
function buildPublicServer({ issuer, logger, trustedProxies, draining }: AppOptions, deps: AppDeps): FastifyInstance {
  const base = new URL(issuer).pathname.replace(/\/$/, '')
  const metadataPath = serverMetadataPath(issuer)
  const meter = deps.watched.http('public')
  const { respond: unreadable, observe } = unreadablePage(deps.pages)
  const reading = { readTrace: readTraceContext, leavesQuery: true }
  const server = buildServer({ logger, trustedProxies, ...reading, unreadable, draining, meter })
  const clientEndpoints = deps.features.flatMap((feature) => feature.clientEndpoints ?? [])
  const clientPaths = ['/token', '/oauth/revoke', ...clientEndpoints.map(({ path }) => path)]
  const jsonPaths = [...clientPaths.map((path) => base + path), metadataPath]
  // Libraries look for several documents below /.well-known, and must be able to read that one does not exist.
  const openPaths = [...jsonPaths, `${base}/openapi.json`, '/.well-known', `${base}/.well-known`]
  allowAnyOrigin(server, BROWSER_HEADERS, (path) => openPaths.some((open) => isAtOrBelow(open, path)))
  server.register(pagesPlugin, deps.pages)
  server.setErrorHandler(pageErrorHandler)
  server.setNotFoundHandler(notFoundHandler(server, { issuer, jsonPaths }))
  observe(server, jsonPaths)
  server.register(
    async (site) => {
      site.register(async (pages) => pageSurface(pages, issuer, deps))
      site.register(async (oauth) => {
        groupRoutes(oauth, 'sign_in')
        oauthSurface(oauth, issuer, deps)
        for (const feature of deps.features) feature.signInEndpoints?.(oauth)
      })
      site.register(inGroup('static', errorRoutes))
      site.register(inGroup('static', assetRoutes), deps.pages)
      site.register(inGroup('static', logoRoutes), deps.logos)
      site.register(async (oauth) => {
        groupRoutes(oauth, 'token')
        oauthSurface(oauth, issuer, deps)
        const preflights = clientPaths.map((path) => ({ path, methods: 'POST' }))
        preflightRoutes(oauth, BROWSER_HEADERS, preflights)
        oauth.register(tokenRoutes, deps.token)
        oauth.register(revocationRoutes, deps.revocation)
        const parts = clientEndpointParts(deps)
        for (const { register } of clientEndpoints) oauth.register(async (endpoint) => register(endpoint, parts))
      })
    },
    { prefix: base }
  )
  server.register(async (oauth) => {
    groupRoutes(oauth, 'static')
    oauthSurface(oauth, issuer, deps)
    preflightRoutes(oauth, BROWSER_HEADERS, [{ path: metadataPath, methods: 'GET' }])
    const { scopes, discoversClients, pages, token } = deps
    const languages = [...pages.languages.keys()]
    const assertionAlgorithms = token.assertions?.algorithms
    const added = Object.assign({}, ...deps.features.map((feature) => feature.serverMetadata))
    const described = { issuer, languages, scopes, discoversClients, assertionAlgorithms, added }
    oauth.register(metadataRoutes, { path: metadataPath, ...described })
  })
  server.register(
    async (site) => {
      groupRoutes(site, 'static')
      site.register(openApiDocumentRoute, { document: 'public', issuer })
    },
    { prefix: base }
  )
  return server
}

function clientEndpointParts({ token, login }: PublicDeps) {
  return { authentication: token, validation: login, senderConstraint: token.senderConstraint }
}

/** Pages with forms, cookies and a session. */
function pageSurface(pages: FastifyInstance, issuer: string, deps: PublicDeps & Pick<AppDeps, 'features' | 'audit'>) {
  groupRoutes(pages, 'sign_in')
  pages.removeAllContentTypeParsers()
  pages.register(formbody, { parser: parseParameters })
  pages.register(cookie)
  pages.register(sessionPlugin, deps.session)
  const { audit, session } = deps
  pages.register(waysBack, { issuer, audit, now: session.now, sessionCookie: session.cookies.names.session })
  pages.register(authorizeRoutes, deps.authorize)
  pages.register(loginRoutes, deps.login)
  pages.register(continueRoutes, deps.login)
  pages.register(consentRoutes, deps.consent)
  const { ways, clients, resourceServers, scopes, defaultAudience, rights, finder, bindsToKeys, references } =
    deps.login
  const validation = { clients, resourceServers, scopes, defaultAudience, rights, finder, bindsToKeys, references }
  const signIn: SignInParts = { ways, ...validation }
  for (const feature of deps.features) feature.signInPages?.(pages, signIn)
  pages.register(async (account) => accountSurface(account, deps))
}

/** The pages of a signed-in user. */
function accountSurface(account: FastifyInstance, deps: PublicDeps & Pick<AppDeps, 'features'>): void {
  countForms(account, deps.formCount)
  account.register(accountRoutes, deps.account)
  account.register(passwordRoutes, deps.password)
  account.register(sessionRoutes, deps.sessionList)
  account.register(ownLogoRoutes, deps.logos)
  for (const feature of deps.features) feature.accountPages?.(account)
}

/** Builds the server for resource servers only. */
function buildInternalServer({ issuer, logger, draining }: AppOptions, deps: AppDeps): FastifyInstance {
  const meter = deps.watched.http('internal')
  const unreadable = unreadableOAuthError(issuer)
  const server = buildServer({ logger, unreadable, draining, meter, readTrace: readTraceContext, keepsRequestId: true })
  oauthSurface(server, issuer, deps)
  server.setNotFoundHandler(notFoundHandler(server, { issuer, jsonPaths: 'all' }))
  server.register(inGroup('introspection', introspectionRoutes), deps.introspection)
  server.register(inGroup('feed', feedRoutes), { ...deps.feed, draining })
  for (const feature of deps.features) feature.internalEndpoints?.(server)
  server.register(inGroup('static', openApiDocumentRoute), { document: 'internal', issuer })
  return server
}

/** Builds the server for operators only. */
function buildOperatorServer({ logger, draining }: AppOptions, deps: AppDeps): FastifyInstance {
  const { metrics, http } = deps.watched
  const server = buildServer({ logger, meter: http('operator'), unreadable: unreadableOverview })
  const readiness = createReadiness({ checks: deps.dependencies.checks, draining })
  server.register(inGroup('health', healthRoutes), { readiness })
  server.register(inGroup('static', startPageRoutes), { ...deps.startPage, readiness })
  server.register(inGroup('admin', adminRoutes), { prefix: '/admin', ...deps.admin, features: deps.features })
  server.register(inGroup('health', metricsRoute), { metrics })
  return server
}
