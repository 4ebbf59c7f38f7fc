import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { showProblem } from '../pages/show-problem.js'
import type { BrowserSessions } from '../session/browser-session.js'
import type { Discover } from './authorization-server.js'
import { endAccess } from './end-access.js'
import { type Failure, failureOf } from './failure.js'
import { finishFlow } from './finish-flow.js'
import { startFlow } from './start-flow.js'

type Options = { sessions: BrowserSessions; discover: Discover; redirectUri: string; now: () => number }

export async function connectRoutes(app: FastifyInstance, options: Options): Promise<void> {
  const { sessions, discover } = options

  function showFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply {
    request.log.warn({ event: 'connect_failed', problem: failure.problem, err: failure.cause }, 'connect failed')
    const connected = sessions.find(request)?.connection !== undefined
    return showProblem(reply, failure.problem, { detail: failure.detail, connected })
  }

  // Our button sends a POST. A link works, too, because a start alone changes no data.
  app.route({
    method: ['GET', 'POST'],
    url: '/connect',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const session = sessions.open(request, reply)
      try {
        const address = await startFlow(session, options)
        return reply.redirect(address.href, 303)
      } catch (error) {
        return showFailure(request, reply, failureOf(error))
      }
    }
  })

  app.get('/callback', { exposeHeadRoute: false }, async (request, reply) => {
    const session = sessions.open(request, reply)
    const before = session.connection
    const outcome = await finishFlow(session, queryOf(request), options)
    if (outcome.kind === 'failed') return showFailure(request, reply, outcome.failure)
    sessions.changeId(session, reply)
    // The new grant replaces an older one, which would otherwise stay valid and unused.
    if (before !== undefined) await endAccess(before, discover)
    request.log.info({ event: 'connected' }, 'connected')
    return reply.redirect('/files', 303)
  })

  app.post('/disconnect', async (request, reply) => {
    const session = sessions.find(request)
    if (session?.connection === undefined) return reply.redirect('/', 303)
    // Delete the session first, so that the browser is disconnected even if the authorization server fails.
    const blank = sessions.startOver(session, reply)
    const failure = await endAccess(session.connection, discover)
    if (failure !== undefined) return showFailure(request, reply, { ...failure, problem: 'disconnected_only_here' })
    request.log.info({ event: 'disconnected' }, 'disconnected')
    blank.notice = 'You are disconnected. Photo Printer can no longer see your files.'
    return reply.redirect('/', 303)
  })
}

/** The raw query, because the library must see repeated parameters. */
function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?')
  return start < 0 ? '' : request.url.slice(start)
}
