import { hostHeaderValidation, originValidation } from '@modelcontextprotocol/fastify'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { bearerPlugin } from '@valetkey/guard/fastify'
import { type FastifyInstance, fastify } from 'fastify'
import { toAuthInfo } from './auth-info.js'
import type { Config } from './config.js'
import { buildMcpServer } from './tools.js'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

export async function buildApp(config: Config): Promise<FastifyInstance> {
  const { issuer, resource, introspection, scopes, dpop, nonceKeys } = config
  const { hostname, pathname } = new URL(resource)
  const app = fastify()
  const handler = createMcpHandler(() => buildMcpServer(config))
  const serve = toNodeHandler(handler)
  app.addHook('onClose', () => handler.close())
  const scopesSupported = [scopes.list, scopes.find]
  const nonces = nonceKeys.length === 0 ? {} : { nonceKeys }
  const bound = dpop === 'off' ? {} : { dpop: { mode: dpop, ...nonces } }
  await app.register(bearerPlugin, { issuer, resource, introspection, scopesSupported, ...bound })

  app.register(async (mcp) => {
    // The transport requires both checks, against web sites that point their name to this address (DNS rebinding).
    mcp.addHook('onRequest', hostHeaderValidation([...LOOPBACK, hostname]))
    mcp.addHook('onRequest', originValidation([...LOOPBACK, hostname]))
    mcp.route({
      method: ['GET', 'POST', 'DELETE'],
      url: pathname,
      onRequest: app.requireAccessToken(scopes.list),
      async handler(request, reply) {
        const auth = toAuthInfo(request, resource)
        reply.hijack()
        // The library declares optional members in another way than Node does.
        await serve(Object.assign(request.raw as NodeIncomingMessageLike, { auth }), reply.raw, request.body)
      }
    })
  })
  return app
}
