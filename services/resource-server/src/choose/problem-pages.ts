import { isOutage } from '@valetkey/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HandOversUnavailable } from './hand-overs.js'
import type { Language } from './language.js'
import type { SendPage } from './pages.js'

type Problem = 'opened' | 'expired' | 'ended' | 'unavailable' | 'foreign_form' | 'bad_request' | 'failed'

const STATUS: Readonly<Record<Problem, number>> = {
  opened: 410,
  expired: 410,
  ended: 410,
  unavailable: 503,
  foreign_form: 403,
  bad_request: 400,
  failed: 500
}

const RETRY_AFTER = '2'

type More = {
  /** Of the hand-over. Default: that of the browser. */
  language?: Language
  /** The form that is sent again. */
  again?: { action: string; csrfToken: string }
  retryUrl?: string
  backUrl?: string
}

/** Pages that say why files cannot be chosen. */
export function createProblemPages(
  sendPage: SendPage,
  { resourceUrl, languageFor }: { resourceUrl: string; languageFor: (tag: string) => Language }
) {
  function send(request: FastifyRequest, reply: FastifyReply, problem: Problem, more: More = {}): FastifyReply {
    const language = more.language ?? languageFor(/^[a-z-]+/i.exec(request.headers['accept-language'] ?? '')?.[0] ?? '')
    const { again = '', retryUrl = '', backUrl = '' } = more
    const data = { textKey: `problem.${problem}.text`, again, retryUrl, backUrl }
    const title = language.toText(`problem.${problem}.title`)
    if (problem === 'unavailable') reply.header('retry-after', RETRY_AFTER)
    return sendPage(reply, { view: 'problem', status: STATUS[problem], language, title, data })
  }

  /** @throws the error, if it is no outage */
  function sendOutage(error: unknown, request: FastifyRequest, reply: FastifyReply, more: More): FastifyReply {
    if (!(error instanceof HandOversUnavailable) && !isOutage(error as Error)) throw error
    request.log.error({ event: 'choice_unavailable', err: error }, 'a page for choosing files failed')
    return send(request, reply, 'unavailable', more)
  }

  /** The error handler of the pages. */
  async function handleError(error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) {
    const status = error.statusCode ?? 500
    if (status >= 400 && status < 500) return send(request, reply, 'bad_request')
    try {
      // Not the address of the request: a proxy may have changed it.
      return sendOutage(error, request, reply, { retryUrl: new URL(request.url, resourceUrl).href })
    } catch {
      request.log.error({ event: 'request_failed', err: error }, 'request failed')
      return send(request, reply, 'failed')
    }
  }

  return { send, sendOutage, handleError }
}
