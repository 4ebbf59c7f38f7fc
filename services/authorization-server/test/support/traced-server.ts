import type { FastifyInstance, InjectOptions } from 'fastify'
import type { TestServer } from './authorization-server.js'
import { Browser } from './browser.js'

/** The server as one behind a proxy that adds these headers to each request on the public listener. */
export function behindTracingProxy(server: TestServer, headers: Record<string, string>): TestServer {
  const inject = (request: InjectOptions) =>
    server.publicServer.inject({ ...request, headers: { ...request.headers, ...headers } })
  const publicServer: FastifyInstance = new Proxy(server.publicServer, {
    get: (target, name) => (name === 'inject' ? inject : Reflect.get(target, name))
  })
  return { ...server, publicServer, newBrowser: () => new Browser(publicServer, server.config.issuer) }
}
