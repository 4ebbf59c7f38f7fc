import { isOutage } from '@valetkey/service-kit'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { MessageValues } from '../platform/i18n/language.js'
import { PasswordQueueFull } from '../platform/passwords/password-queue.js'

/** The texts are `page_error.<reason>.title`, `.message` and `.advice` of the message files. */
export const ERROR_PAGE_REASONS = [
  'request_too_long',
  'unknown_client',
  'redirect_uri_mismatch',
  'no_cookie',
  'no_request',
  'foreign_form',
  'unavailable',
  'busy',
  'unreadable',
  'failed',
  'wrong_method',
  'not_found',
  'unknown_code'
] as const

export type ErrorPage = {
  status: number
  reason: (typeof ERROR_PAGE_REASONS)[number]
  values?: MessageValues
  /** Always an address of this service. */
  retryUrl?: string | undefined
}

export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, page: ErrorPage): FastifyReply {
  const { status, reason, values = {}, retryUrl = '' } = page
  const text = (part: string) => ({ key: `page_error.${reason}.${part}`, values })
  return reply.code(status).view('error.hbs', {
    title: text('title'),
    message: text('message'),
    advice: text('advice'),
    retryUrl,
    requestId: request.id
  })
}

/** The error handler of all pages. */
export function pageErrorHandler(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply
): FastifyReply {
  if (isOutage(error)) {
    request.log.error({ event: 'page_unavailable', err: error }, 'page unavailable')
    reply.header('retry-after', '2')
    return sendErrorPage(request, reply, { status: 503, reason: 'unavailable' })
  }
  if (error instanceof PasswordQueueFull) {
    reply.header('retry-after', '5')
    return sendErrorPage(request, reply, { status: 503, reason: 'busy' })
  }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  if (status < 500) return sendErrorPage(request, reply, { status, reason: 'unreadable' })
  request.log.error({ event: 'page_failed', err: error }, 'page failed')
  return sendErrorPage(request, reply, { status: 500, reason: 'failed' })
}
