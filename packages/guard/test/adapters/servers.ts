import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import express from 'express'
import express4 from 'express4'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { bearerPlugin } from '../../src/fastify/index.js'
import type { AccessToken, Guard } from '../../src/index.js'
import { accessTokenOf, requireAccessToken, serveMetadata } from '../../src/node.js'
import { metadataResponse, protect } from '../../src/web.js'
import type { Traits } from './cases.js'
import type { RunningApi } from './check-case.js'

type StartedApi = RunningApi & { close(): Promise<void> }

export type Adapter = Traits & { name: string; start(guard: Guard): Promise<StartedApi> }

/** What the guarded handlers return: the token of the request. */
const describeToken = ({ subject, clientId, scope }: AccessToken) => ({ subject, clientId, scope: [...scope] })

/** What the handler of /linked sets itself. */
const OWN_HEADERS = {
  'access-control-allow-origin': 'https://app.example',
  'access-control-expose-headers': 'link',
  'cache-control': 'private, max-age=600'
}

/** What /recent requires. */
const RECENT = { allOf: ['reports.write'], maxAge: 300 }

/** The same API, guarded by each adapter: /reports and /linked need one scope, /both two, /recent a sign-in, /open none. */
export const ADAPTERS: readonly Adapter[] = [
  { name: 'Fastify', parsesForms: true, start: startFastify },
  { name: 'node:http', start: startPlain },
  { name: 'Express 4', parsesForms: true, start: (guard) => startExpress(guard, express4) },
  { name: 'Express 5', parsesForms: true, start: (guard) => startExpress(guard, express) },
  { name: 'Request', joinsHeaders: true, start: startWeb },
  { name: 'Hono', joinsHeaders: true, start: startHono }
]

async function startFastify(guard: Guard): Promise<StartedApi> {
  const app = fastify()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body)
  )
  await app.register(bearerPlugin, { guard })
  const methods = ['GET', 'POST']
  app.route({
    method: methods,
    url: '/reports',
    onRequest: app.requireAccessToken('reports.read'),
    handler: async ({ accessToken }) => describeToken(accessToken)
  })
  const both = app.requireAccessToken('reports.read', 'reports.write')
  app.get('/both', { onRequest: both }, async ({ accessToken }) => describeToken(accessToken))
  app.get('/recent', { onRequest: app.requireAccessToken(RECENT) }, async ({ accessToken }) =>
    describeToken(accessToken)
  )
  app.get('/linked', { onRequest: app.requireAccessToken('reports.read') }, async (_request, reply) =>
    reply.headers(OWN_HEADERS).send()
  )
  app.get('/open', async ({ accessToken }) => describeToken(accessToken))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const close = async () => {
    await app.close()
  }
  return { port: (app.server.address() as AddressInfo).port, close }
}

async function startPlain(guard: Guard): Promise<StartedApi> {
  const guards = new Map([
    ['/reports', requireAccessToken(guard, 'reports.read')],
    ['/linked', requireAccessToken(guard, 'reports.read')],
    ['/both', requireAccessToken(guard, 'reports.read', 'reports.write')],
    ['/recent', requireAccessToken(guard, RECENT)]
  ])
  const metadata = serveMetadata(guard)
  return listen((request, response) => {
    const respond = () => {
      if (request.url === '/linked') response.setHeaders(new Map(Object.entries(OWN_HEADERS)))
      response.end(JSON.stringify(describeToken(accessTokenOf(request))))
    }
    metadata(request, response, () => {
      const guardRequest = guards.get(request.url?.split('?', 1)[0] ?? '')
      if (guardRequest !== undefined) return guardRequest(request, response, respond)
      try {
        respond()
      } catch {
        response.writeHead(500).end()
      }
    })
  })
}

async function startExpress(guard: Guard, makeApp: typeof express): Promise<StartedApi> {
  const app = makeApp()
  app.use(makeApp.urlencoded({ extended: true }))
  // Mounted, so that `request.url` lacks the first part of the path.
  app.use('/.well-known', serveMetadata(guard))
  app.use('/reports', requireAccessToken(guard, 'reports.read'))
  app.use('/both', requireAccessToken(guard, 'reports.read', 'reports.write'))
  app.use('/recent', requireAccessToken(guard, RECENT))
  app.get('/linked', requireAccessToken(guard, 'reports.read'), (_request, response) => {
    response.set(OWN_HEADERS).end()
  })
  app.all('/:name', (request, response) => void response.json(describeToken(accessTokenOf(request))))
  return listen(app)
}

async function startWeb(guard: Guard): Promise<StartedApi> {
  const routes = new Map([
    ['/reports', protect(guard, ['reports.read'], (_request, token) => Response.json(describeToken(token)))],
    ['/linked', protect(guard, ['reports.read'], () => new Response(null, { headers: OWN_HEADERS }))],
    [
      '/both',
      protect(guard, ['reports.read', 'reports.write'], (_request, token) => Response.json(describeToken(token)))
    ],
    ['/recent', protect(guard, RECENT, (_request, token) => Response.json(describeToken(token)))]
  ])
  return serve(async (request) => {
    const route = routes.get(new URL(request.url).pathname)
    return metadataResponse(guard, request) ?? (await route?.(request)) ?? new Response(null, { status: 500 })
  })
}

async function startHono(guard: Guard): Promise<StartedApi> {
  const files = protect(guard, ['reports.read'], (_request, token) => Response.json(describeToken(token)))
  const both = protect(guard, ['reports.read', 'reports.write'], (_request, token) =>
    Response.json(describeToken(token))
  )
  const app = new Hono()
  app.all('/.well-known/*', ({ req, notFound }) => metadataResponse(guard, req.raw) ?? notFound())
  app.all('/reports', ({ req }) => files(req.raw))
  app.all('/both', ({ req }) => both(req.raw))
  const recent = protect(guard, RECENT, (_request, token) => Response.json(describeToken(token)))
  app.all('/recent', ({ req }) => recent(req.raw))
  const linked = protect(guard, ['reports.read'], () => new Response(null, { headers: OWN_HEADERS }))
  app.all('/linked', ({ req }) => linked(req.raw))
  app.all('/open', ({ body }) => body(null, 500))
  return serve(async (request) => app.fetch(request))
}

async function listen(listener: RequestListener): Promise<StartedApi> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Serves an API of the Fetch standard with node:http, as the servers of such frameworks do. */
function serve(fetch: (request: Request) => Promise<Response>): Promise<StartedApi> {
  return listen(async (request: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', rawHeaders, url = '' } = request
    const headers = new Headers()
    for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '')
    const body = method === 'POST' ? await buffer(request) : null
    const answer = await fetch(new Request(`https://reports.example${url}`, { method, headers, body }))
    response.statusCode = answer.status
    for (const [name, value] of answer.headers) response.appendHeader(name, value)
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
}
