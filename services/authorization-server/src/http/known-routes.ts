import type { FastifyInstance, RouteOptions } from 'fastify'

type Path = { segments: readonly string[] }

type Route = Path & { method: string }

/**
 * Finds the methods of a path among the routes that are registered after this call. Fastify can look up a route by its pattern
 * only, not by a path.
 */
export function collectMethods(server: FastifyInstance): (path: string) => readonly string[] {
  const routes: Route[] = []
  server.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, segments: url.split('/') })
  })
  return (path) => {
    const segments = path.split('/')
    return [...new Set(routes.filter((route) => matches(route, segments)).map(({ method }) => method))]
  }
}

/**
 * Finds out whether a path is that of a page, among the routes that are registered after this call: false for a route that
 * sends JSON, undefined for an unknown path.
 */
export function collectPages(server: FastifyInstance): (path: string) => boolean | undefined {
  const routes: { segments: readonly string[]; options: RouteOptions }[] = []
  server.addHook('onRoute', (options) => {
    routes.push({ segments: options.url.split('/'), options })
  })
  return (path) => {
    const segments = path.split('/')
    const found = routes.filter((route) => matches(route, segments))
    return found.length === 0 ? undefined : found.every(({ options }) => options.config?.sendsJson !== true)
  }
}

function matches(route: Path, segments: readonly string[]): boolean {
  return (
    segments.length === route.segments.length &&
    route.segments.every((segment, index) =>
      segment.startsWith(':') ? segments[index] !== '' : segment === segments[index]
    )
  )
}
