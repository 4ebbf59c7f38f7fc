import type { FastifyInstance } from 'fastify'
import type { BrowserSessions } from '../session/browser-session.js'

/**
 * The start page opens the session, although only the next step needs it: so two tabs that start to connect at the same
 * moment already share one cookie, and neither overwrites the other's.
 */
export async function startRoute(app: FastifyInstance, { sessions }: { sessions: BrowserSessions }): Promise<void> {
  app.get('/', async (request, reply) => {
    const session = sessions.open(request, reply)
    const { notice } = session
    session.notice = undefined
    return reply.view('start.hbs', { notice, connected: session.connection !== undefined })
  })
}
