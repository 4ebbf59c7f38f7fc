import { isOutage } from '@valetkey/service-kit'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { MessageValues } from '../platform/i18n/language.js'
import { PasswordQueueFull } from '../platform/passwords/password-queue.js'
import { type SentByApp, technicalDetails } from './technical-details.js'

/** The texts are `page_error.<reason>.title`, `.message` and `.advice` of the message files. */
export const ERROR_PAGE_REASONS = [
  'invalid_request_uri',
  'request_too_long',
  'unknown_client',
  'redirect_uri_mismatch',
  'app_not_published',
  'client_not_allowed',
  'client_unreachable',
  'client_document_invalid',
  'client_too_many',
  'too_many_new_clients',
  'too_many_forms',
  'too_many_changes',
  'request_not_returned',
  'no_cookie',
  'no_request',
  'foreign_form',
  'form_without_origin',
  'unavailable',
  'busy',
  'unreadable',
  'not_routed',
  'failed',
  'wrong_method',
  'not_found',
  'unknown_code'
] as const

/** The reasons that `/errors/…` explains to the developer of the app. */
export const EXPLAINED_REASONS = [
  'invalid_request_uri',
  'request_too_long',
  'unknown_client',
  'redirect_uri_mismatch',
  'client_not_allowed',
  'client_unreachable',
  'client_document_invalid'
] as const satisfies readonly ErrorPageReason[]

/** After these errors, a link to the account page does not help. */
const WITHOUT_ACCOUNT: readonly ErrorPageReason[] = ['unavailable', 'busy', 'failed', 'client_too_many', 'no_cookie']

type ErrorPageReason = (typeof ERROR_PAGE_REASONS)[number]

export type ErrorPage = {
  status: number
  reason: ErrorPageReason
  values?: MessageValues
  /** Always an address of this service. */
  retryUrl?: string | undefined
  /** The app that the user came from: only one that an operator registered or has seen, because the page links to its home page. */
  app?: { name: string; homePage: string } | undefined
  /** What the app sent. The page shows it as text, and never as a link. */
  sent?: Omit<SentByApp, 'error'>
}

export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, page: ErrorPage): FastifyReply {
  const { status, reason, values = {}, retryUrl = '', app, sent } = page
  const text = (part: string) => ({ key: `page_error.${reason}.${part}`, values })
  return reply.code(status).view('error.hbs', {
    title: text('title'),
    message: text('message'),
    advice: text('advice'),
    retryUrl,
    app,
    leadsToAccount: retryUrl === '' && !WITHOUT_ACCOUNT.includes(reason),
    technical: technicalDetails(request, { ...sent, error: EXPLAINED_REASONS.find((each) => each === reason) })
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
    // Any person can send many passwords, and the alert about 5xx must not count what strangers cause. The queue has its own metric.
    reply.countedStatus = 429
    return sendErrorPage(request, reply, { status: 503, reason: 'busy' })
  }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  if (status < 500) {
    const code = 'code' in error ? error.code : error.name
    request.log.info({ event: 'unreadable_request', code }, 'unreadable request')
    return sendErrorPage(request, reply, { status, reason: 'unreadable' })
  }
  request.log.error({ event: 'page_failed', err: error }, 'page failed')
  return sendErrorPage(request, reply, { status: 500, reason: 'failed' })
}
