import { STATUS_CODES } from 'node:http'
import { BEARER_ERROR_STATUS, type BearerErrorCode, bearerChallenge } from '@valetkey/oauth-protocol'
import type { FastifyReply } from 'fastify'

/** What every challenge of one guard says about where it stands. */
export type ChallengeOptions = { realm: string; scope: string | undefined; resourceMetadata: string }

/** One sentence a code, whatever the cause: a token's holder learns from the answer only what the RFC grants. */
const DESCRIPTION: Readonly<Record<BearerErrorCode, string>> = {
  invalid_request: 'Send one access token, in one Authorization header, and nowhere else.',
  invalid_token: 'The access token is not valid here.',
  insufficient_scope: 'The access token does not cover this request.'
}

const RETRY_AFTER_SECONDS = 2

/** 401 with a challenge and no error code: nothing went wrong yet (RFC 6750 §3.1). */
export function askForCredentials(reply: FastifyReply, context: ChallengeOptions): FastifyReply {
  reply.header('www-authenticate', challenge(context))
  return sendProblem(reply, 401, 'This resource needs an access token: Authorization: Bearer …')
}

/** Refuses a request with a code of RFC 6750 §3.1. */
export function refuse(reply: FastifyReply, context: ChallengeOptions, code: BearerErrorCode): FastifyReply {
  const description = DESCRIPTION[code]
  reply.header('www-authenticate', challenge(context, { code, description }))
  return sendProblem(reply, BEARER_ERROR_STATUS[code], description, code)
}

/** Nothing is known about the token, so nothing is said about it: neither 401, which would make clients drop it. */
export function answerUnavailable(reply: FastifyReply): FastifyReply {
  reply.header('retry-after', RETRY_AFTER_SECONDS)
  return sendProblem(reply, 503, 'Access tokens cannot be checked at the moment.', 'temporarily_unavailable')
}

function challenge(
  { realm, scope, resourceMetadata }: ChallengeOptions,
  error?: { code: BearerErrorCode; description: string }
): string {
  return bearerChallenge({ realm, resourceMetadata, ...(scope && { scope }), ...(error && { error }) })
}

/** A body for people who debug; programs read status and challenge (RFC 9457). */
function sendProblem(reply: FastifyReply, status: number, detail: string, error?: string): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/problem+json')
    .send(JSON.stringify({ title: STATUS_CODES[status], status, detail, ...(error && { error }) }))
}
