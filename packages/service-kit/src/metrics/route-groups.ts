import type { FastifyInstance, FastifyPluginAsync, FastifyPluginOptions } from 'fastify'

/**
 * The purpose of a route. Alerts compare failures with the requests of the same group (infra/helm/valetkey/alerts.yaml),
 * because frequent requests would otherwise hide an outage of rare ones.
 */
const ROUTE_GROUPS = [
  /** Pages of the authorization server for users: authorize, login, consent, logout, account. */
  'sign_in',
  /** The token endpoint and token revocation. */
  'token',
  'introspection',
  /** The revocation feed. */
  'feed',
  /** The API of the resource server. */
  'files',
  /** The administration API. */
  'admin',
  /** Metadata, API descriptions, style sheets, error pages. */
  'static',
  /** Probes and metrics. Their 503 is a result, not a failure. */
  'health'
] as const

export type RouteGroup = (typeof ROUTE_GROUPS)[number]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The label `route_group` of the HTTP metric. */
    routeGroup?: RouteGroup
  }
}

/** Sets the group of all routes that are registered in this scope from now on. A nested scope may set another. */
export function groupRoutes(scope: FastifyInstance, group: RouteGroup): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, routeGroup: group }
  })
}

/** Wraps a plugin, so that all its routes are in one group. */
export function inGroup<Options extends FastifyPluginOptions>(
  group: RouteGroup,
  routes: FastifyPluginAsync<Options>
): FastifyPluginAsync<Options> {
  return async (scope, options) => {
    groupRoutes(scope, group)
    await routes(scope, options)
  }
}

/** Prevents a start with a route that has no group, because alerts would not cover it. */
export function requireRouteGroups(server: FastifyInstance): void {
  const routes: { url: string; config?: { routeGroup?: RouteGroup } }[] = []
  server.addHook('onRoute', (route) => {
    routes.push(route)
  })
  server.addHook('onReady', async () => {
    const missing = routes.filter(({ config }) => config?.routeGroup === undefined).map(({ url }) => url)
    if (missing.length > 0) throw new Error(`these routes have no route group: ${missing.join(', ')}`)
  })
}
