import { STATUS_CODES } from 'node:http'
import { BEARER_ERROR_STATUS, type BearerErrorCode, bearerChallenge } from '@valetkey/oauth-protocol'
import type { FastifyReply } from 'fastify'

/** What every challenge of one guard contains. */
export type ChallengeOptions = { realm: string; scope: string | undefined; resourceMetadata: string }

/** One sentence for each code and all causes, because the response must not reveal why a token is invalid. */
const DESCRIPTION: Readonly<Record<BearerErrorCode, string>> = {
  invalid_request: 'Send one access token, in one Authorization header, and nowhere else.',
  invalid_token: 'The access token is not valid here.',
  insufficient_scope: 'The access token does not cover this request.'
}

const RETRY_AFTER_SECONDS = 2

/** 401 with a challenge and no error code, for a request without credentials (RFC 6750 §3.1). */
export function requestCredentials(reply: FastifyReply, options: ChallengeOptions): FastifyReply {
  reply.header('www-authenticate', challenge(options))
  return sendProblem(reply, 401, 'This resource needs an access token: Authorization: Bearer …')
}

/** Refuses a request with a code of RFC 6750 §3.1. */
export function refuse(reply: FastifyReply, options: ChallengeOptions, code: BearerErrorCode): FastifyReply {
  const description = DESCRIPTION[code]
  reply.header('www-authenticate', challenge(options, { code, description }))
  return sendProblem(reply, BEARER_ERROR_STATUS[code], description, code)
}

/** 503 when introspection fails. Not 401: clients would discard a token that may be valid. */
export function sendUnavailable(reply: FastifyReply): FastifyReply {
  reply.header('retry-after', RETRY_AFTER_SECONDS)
  return sendProblem(reply, 503, 'Access tokens cannot be checked at the moment.', 'temporarily_unavailable')
}

function challenge(
  { realm, scope, resourceMetadata }: ChallengeOptions,
  error?: { code: BearerErrorCode; description: string }
): string {
  return bearerChallenge({ realm, resourceMetadata, ...(scope && { scope }), ...(error && { error }) })
}

/** Problem details (RFC 9457) for developers; clients read the status and the challenge. */
function sendProblem(reply: FastifyReply, status: number, detail: string, error?: string): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/problem+json')
    .send(JSON.stringify({ title: STATUS_CODES[status], status, detail, ...(error && { error }) }))
}
