import type { FastifyInstance } from 'fastify'
import { showProblem } from '../pages/show-problem.js'
import type { BrowserSessions } from '../session/browser-session.js'
import { fileRow } from './file-row.js'
import { type ListDeps, type ListOutcome, listFiles } from './list-files.js'

type Options = ListDeps & { sessions: BrowserSessions }

const querystring = { type: 'object', properties: { page_token: { type: 'string', maxLength: 2_048 } } } as const

export async function filesRoutes(app: FastifyInstance, options: Options): Promise<void> {
  app.get<{ Querystring: { page_token?: string } }>('/files', { schema: { querystring } }, async (request, reply) => {
    const session = options.sessions.find(request)
    if (session === undefined) return reply.redirect('/', 303)
    const pageToken = request.query.page_token
    const outcome = await listFiles(session, pageToken, options)
    if (outcome.kind === 'listed') {
      const { files, nextPageToken } = outcome.page
      const older =
        nextPageToken === undefined ? undefined : `/files?${new URLSearchParams({ page_token: nextPageToken })}`
      return reply.view('files.hbs', { rows: files.map(fileRow), older, isFirst: !pageToken })
    }
    if (outcome.kind === 'not_connected') return reply.redirect('/', 303)
    const cause = 'cause' in outcome ? outcome.cause : undefined
    request.log.warn({ event: 'list_failed', outcome: outcome.kind, err: cause }, 'no list of files')
    return showProblem(reply, problemOf(outcome), { connected: session.connection !== undefined })
  })
}

function problemOf(outcome: Exclude<ListOutcome, { kind: 'listed' | 'not_connected' }>) {
  switch (outcome.kind) {
    case 'access_ended':
      return 'access_ended'
    case 'permission_missing':
      return 'permission_missing'
    case 'page_gone':
      return 'page_gone'
    case 'sign_in_unreachable':
      return 'renewal_unreachable'
    case 'unreachable':
      return 'files_unreachable'
    default:
      return outcome satisfies never
  }
}
