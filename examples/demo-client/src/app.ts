import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import cookie from '@fastify/cookie'
import fastifyView from '@fastify/view'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import Handlebars from 'handlebars'
import { discoverOnce } from './access.js'
import type { Config } from './config.js'
import { connectRoutes } from './connect.js'
import { filesRoutes } from './files.js'
import { showProblems } from './problems.js'
import { protect } from './protection.js'
import { memorySessions, type Sessions } from './sessions.js'

export type AppParts = { logStream?: { write(line: string): void }; maxSessions?: number }

/** The map: everything that this app consists of, in order. */
export async function buildApp(config: Config, parts: AppParts = {}): Promise<FastifyInstance> {
  const { logStream: stream = process.stdout, maxSessions: max = 5_000 } = parts
  const app = Fastify({
    logger: { stream, serializers: { req: describeRequest, err: describeError } },
    bodyLimit: 4_096
  })
  const discover = discoverOnce(config)
  const sessions = memorySessions({ secure: config.baseUrl.protocol === 'https:', max })

  await app.register(cookie)
  await app.register(fastifyView, {
    engine: { handlebars: Handlebars.create() },
    root: fileURLToPath(new URL('../views', import.meta.url)),
    // Templates are compiled once, and a name that the page was not given is an error.
    production: true,
    options: { compileOptions: { strict: true }, partials: { layout: 'layout.hbs' } }
  })
  protect(app, config)
  showProblems(app, sessions)

  await app.register(pages, { sessions })
  await app.register(connectRoutes, { sessions, discover, redirectUri: config.redirectUri })
  await app.register(filesRoutes, { sessions, discover, resourceUrl: config.resourceUrl })
  return app
}

async function pages(app: FastifyInstance, { sessions }: { sessions: Sessions }): Promise<void> {
  // The start page opens the session, so that two tabs that start to connect concurrently share one cookie.
  app.get('/', async (request, reply) => {
    const session = sessions.open(request, reply)
    const { notice, connection } = session
    session.notice = undefined
    return reply.view('start.hbs', { notice, connected: connection !== undefined })
  })

  const folder = new URL('../assets/', import.meta.url)
  for (const name of await readdir(folder)) {
    const content = await readFile(new URL(name, folder))
    const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'image/svg+xml'
    app.get(`/${name}`, (_request, reply) => reply.type(type).send(content))
  }
}

/** Without the query: a callback carries a code. */
const describeRequest = ({ method, url }: FastifyRequest) => ({ method, path: url.split('?')[0] })

/** The client library attaches requests and responses, with tokens, to its errors; they are not logged. */
function describeError(error: Error): { type: string; message: string; stack: string; [member: string]: unknown } {
  const { code, error: oauthError }: Record<string, unknown> = { ...error }
  const cause = error.cause instanceof Error ? describeError(error.cause) : undefined
  return { type: error.name, message: error.message, code, oauthError, stack: error.stack ?? '', cause }
}
