import type { FastifyInstance } from 'fastify'

type Route = { method: string; segments: readonly string[] }

/**
 * The methods that an address has among the routes that are registered from now on. Fastify looks a route up by its
 * pattern only, and not by an address.
 */
export function collectMethods(server: FastifyInstance): (path: string) => readonly string[] {
  const routes: Route[] = []
  server.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, segments: url.split('/') })
  })
  return (path) => {
    const given = path.split('/')
    return [...new Set(routes.filter((route) => fits(route, given)).map(({ method }) => method))]
  }
}

function fits({ segments }: Route, given: readonly string[]): boolean {
  return (
    given.length === segments.length &&
    segments.every((segment, index) => (segment.startsWith(':') ? given[index] !== '' : segment === given[index]))
  )
}
