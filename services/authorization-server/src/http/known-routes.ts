import type { FastifyInstance } from 'fastify'

type Route = { method: string; segments: readonly string[] }

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

function matches(route: Route, segments: readonly string[]): boolean {
  return (
    segments.length === route.segments.length &&
    route.segments.every((segment, index) =>
      segment.startsWith(':') ? segments[index] !== '' : segment === segments[index]
    )
  )
}
