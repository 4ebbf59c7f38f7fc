import type { TestServer } from './authorization-server.js'

export type Route = { method: 'GET' | 'POST'; path: string }

/** All routes of the public listener, from the tree that Fastify prints: each level is indented by four characters. */
export function registeredRoutes({ publicServer }: Pick<TestServer, 'publicServer'>): Route[] {
  const parts: string[] = []
  return publicServer
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^(.*)── (\S+)(?: \(([^)]*)\))?/.exec(line) ?? []
      if (part === '') return []
      parts.splice(Math.floor(indent.length / 4), parts.length, part)
      const path = parts.join('')
      const used = (['GET', 'POST'] as const).filter((method) => methods.split(', ').includes(method))
      return used.map((method) => ({ method, path }))
    })
}

/** These receive what programs send, not forms of our pages. */
const FOR_PROGRAMS = /^\/(?:token|tokens\/leaked|oauth\/(?:revoke|par)|login\/with\/[^/]+\/(?:callback|logout))$/

/** The addresses of all forms of pages, with `x` for each parameter. */
export function formPaths(server: Pick<TestServer, 'publicServer'>): string[] {
  return registeredRoutes(server)
    .filter(({ method, path }) => method === 'POST' && !FOR_PROGRAMS.test(path))
    .map(({ path }) => path.replace(/:\w+/g, 'x'))
}
