import type { FastifyInstance, FastifyPluginAsync, FastifyPluginOptions } from 'fastify'

/**
 * What a route serves. One number for all requests would hide an outage of a rare kind of request behind a frequent kind, so
 * alerts divide failures by the requests of the same kind (infra/alerts/rules.yaml).
 */
export const ROUTE_GROUPS = [
  /** Pages of the authorization server for people: authorize, login, consent, logout, account. */
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
  /** Metadata, API descriptions, style sheets, explanations of errors. */
  'static',
  /** Probes and metrics. Their 503 is an answer, not a failure. */
  'health'
] as const

export type RouteGroup = (typeof ROUTE_GROUPS)[number]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The label `route_group` of the HTTP metric. */
    routeGroup?: RouteGroup
  }
}

/** Puts all routes that are registered in this scope from now on into one group. A scope inside may name another. */
export function groupRoutes(scope: FastifyInstance, group: RouteGroup): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, routeGroup: group }
  })
}

/** The same plugin with all its routes in one group. */
export function inGroup<Options extends FastifyPluginOptions>(
  group: RouteGroup,
  routes: FastifyPluginAsync<Options>
): FastifyPluginAsync<Options> {
  return async (scope, options) => {
    groupRoutes(scope, group)
    await routes(scope, options)
  }
}

/** A server with a route that belongs to no group does not start: alerts could not tell what its failures mean. */
export function requireRouteGroups(server: FastifyInstance): void {
  const routes: { url: string; config?: { routeGroup?: RouteGroup } }[] = []
  server.addHook('onRoute', (route) => {
    routes.push(route)
  })
  server.addHook('onReady', async () => {
    const missing = routes.filter(({ config }) => config?.routeGroup === undefined).map(({ url }) => url)
    if (missing.length > 0) throw new Error(`these routes belong to no route group: ${missing.join(', ')}`)
  })
}
