import { OAUTH_ERROR_STATUS, OAuthError, type OAuthErrorCode, toErrorDescription } from '@valetkey/oauth-protocol'
import { isOutage, type UnreadableBody } from '@valetkey/service-kit'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { AuditTrail } from '../platform/audit/audit-trail.js'
import { type LimitReason, TooManyAttempts } from '../platform/rate-limits/limiter.js'

export type SentRefusal = {
  status: number
  error: OAuthErrorCode
  description: string
  /** The reason of the audit event. */
  reason: string
  /** The client that the request named, if it was found or looked up. */
  clientId: string | undefined
}

const UNREADABLE = 'The request could not be read.'

const TOO_MANY: Readonly<Record<LimitReason, string>> = {
  too_many_attempts: 'Too many failed attempts. Wait before you try again.',
  too_many_at_once: 'Too many attempts at once. Wait before you try again.',
  too_many_pushed_requests: 'Too many authorization requests were pushed. Wait before you try again.',
  too_many_refreshes: 'This grant is refreshed too often. The refresh token is still valid. Wait before you try again.'
}

/** `Retry-After` of a 503, in seconds. */
const RETRY_AFTER_OUTAGE = 2

/** The error handler of every OAuth endpoint (RFC 6749 §5.2). No other code writes these errors. */
export function oauthErrorHandler({
  issuer,
  audit,
  onRefusal
}: {
  issuer: string
  audit: AuditTrail
  /** Called for each error that is sent. */
  onRefusal?: (request: FastifyRequest, refusal: SentRefusal) => void
}) {
  return async (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { refusal, status, retryAfter } = toRefusal(error)
    const { code, description, details } = refusal
    const { reason = code, clientId = request.authenticatedClientId, grantId, secretId, challenge } = details
    // The client repeats the request with the nonce, at nearly each refresh. So neither operators nor the developer see it as a refusal.
    const isRoutine = code === 'use_dpop_nonce'
    if (!isRoutine) onRefusal?.(request, { status, error: code, description, reason, clientId })
    if (challenge === 'Basic') reply.header('www-authenticate', 'Basic realm="valetkey", charset="UTF-8"')
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
    if (status >= 500) {
      const level = details.isElsewhere === true ? 'warn' : 'error'
      // The fault is of the caller or of a third party: the alert about 5xx must not count it.
      if (level === 'warn') reply.countedStatus = 400
      request.log[level]({ event: 'request_failed', code, err: refusal.cause }, 'request failed')
    } else if (!isRoutine) {
      audit.record(request, { event: 'request_refused', clientId, grantId, secretId, reason })
    }
    await reply
      .code(status)
      .header('cache-control', 'no-store')
      .header('pragma', 'no-cache')
      .send(errorBody(refusal, issuer))
  }
}

export function errorBody(refusal: OAuthError, issuer: string) {
  return {
    error: refusal.code,
    error_description: toErrorDescription(refusal.description),
    error_uri: errorUri(issuer, refusal.code)
  }
}

/** The response to a request that Node cannot parse, on a listener with OAuth endpoints. */
export function unreadableOAuthError(issuer: string): () => UnreadableBody {
  const body = JSON.stringify(errorBody(new OAuthError('invalid_request', UNREADABLE), issuer))
  return () => ({ contentType: 'application/json; charset=utf-8', body })
}

/** The page that explains an error code and how to fix the request. */
export function errorUri(issuer: string, code: string): string {
  return `${issuer}/errors/${code}`
}

type Refusal = { refusal: OAuthError; status: number; retryAfter?: number }

function toRefusal(error: FastifyError | Error): Refusal {
  if (error instanceof OAuthError) {
    const { retryAfterSeconds } = error.details
    const retry = retryAfterSeconds !== undefined && { retryAfter: retryAfterSeconds }
    return { refusal: error, status: OAUTH_ERROR_STATUS[error.code], ...retry }
  }
  if (isOutage(error)) {
    const description = 'The service is unavailable. Try again in a moment.'
    const refusal = new OAuthError('temporarily_unavailable', description, { cause: error })
    return { refusal, status: 503, retryAfter: RETRY_AFTER_OUTAGE }
  }
  if (error instanceof TooManyAttempts) {
    const refusal = new OAuthError('temporarily_unavailable', TOO_MANY[error.reason], { reason: error.reason })
    return { refusal, status: 429, retryAfter: error.retryAfterSeconds }
  }
  const edge = edgeRefusal('code' in error ? error.code : undefined)
  if (edge !== undefined) return edge
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  if (status >= 400 && status < 500) {
    return {
      refusal: new OAuthError('invalid_request', UNREADABLE, { cause: error }),
      status: 400
    }
  }
  return { refusal: new OAuthError('server_error', 'Something went wrong here.', { cause: error }), status: 500 }
}

/** Errors that Fastify throws before a route handler runs. */
function edgeRefusal(code: string | undefined): Refusal | undefined {
  const refuse = (description: string, status: number) => ({
    refusal: new OAuthError('invalid_request', description, { reason: code ?? 'unreadable' }),
    status
  })
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refuse('The body must be application/x-www-form-urlencoded.', 400)
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse('The body is too large.', 413)
    case 'CONTENT_CODING':
      return refuse('The body must not be compressed: send it without Content-Encoding.', 415)
    default:
      return undefined
  }
}
