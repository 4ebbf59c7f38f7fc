import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { StoreUnavailable } from '../storage/store-unavailable.js'

/** What an error page says: what happened, and who can do what about it. */
export type ErrorPage = {
  status: number
  title: string
  message: string
  advice: string
  /** Only ever an address of our own. */
  retryUrl?: string | undefined
}

export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, page: ErrorPage): FastifyReply {
  return reply.code(page.status).view('error.hbs', { ...page, retryUrl: page.retryUrl ?? '', requestId: request.id })
}

/** The error handler of every page. */
export function pageErrorHandler(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply
): FastifyReply {
  if (error instanceof StoreUnavailable) {
    request.log.error({ event: 'page_unavailable', err: error }, 'page unavailable')
    reply.header('retry-after', '2')
    return sendErrorPage(request, reply, {
      status: 503,
      title: 'We cannot answer right now',
      message: 'A part of this service is not reachable at the moment. Nothing you entered was lost or changed.',
      advice: 'Wait a few seconds, then reload this page.'
    })
  }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  if (status < 500) {
    return sendErrorPage(request, reply, {
      status,
      title: 'This request could not be read',
      message: 'What your browser sent is not what this page expects.',
      advice: 'Go back to the app you came from and start again there.'
    })
  }
  request.log.error({ event: 'page_failed', err: error }, 'page failed')
  return sendErrorPage(request, reply, {
    status: 500,
    title: 'Something went wrong here',
    message: 'This is our fault and not yours.',
    advice: 'Try again in a moment. If it keeps happening, tell the people who run this service the request id below.'
  })
}
