import {
  BEARER_ERROR_STATUS,
  bearerChallenge,
  carriesAccessToken,
  hashToken,
  isWellFormed,
  readBearerCredentials
} from '@valetkey/oauth-protocol'
import { Problem, sendProblem } from '@valetkey/service-kit'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { operatorAuthenticationLimit } from '../../platform/rate-limits/rules.js'
import { authorizationHeaders, rawQuery } from '../../platform/request-parts.js'
import type { OperatorKeyStore, OperatorPurpose } from '../../storage/postgres/operator-keys.js'
import type { Actor, Author } from '../use-cases/actor.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The operator key of the request; set for every authenticated request. */
    operator: Actor | undefined
  }
  interface FastifyContextConfig {
    /** The route is what operator keys with this purpose are for. */
    operatorPurpose?: OperatorPurpose
  }
}

export type OperatorAuthentication = {
  operatorKeys: Pick<OperatorKeyStore, 'use'>
  limiter: Pick<Limiter, 'count'>
  audit: Pick<AuditTrail, 'record'>
}

const REALM = 'valetkey administration'

/** One description for each code. Only the audit event names the cause. */
const DESCRIPTION = {
  invalid_request: 'Send one operator key, in one Authorization header, and nowhere else.',
  invalid_token: 'The operator key is not valid.'
} as const

/**
 * Authenticates a request by its operator key, before the body is read (RFC 6750). The rate limit counts failures only, and
 * is checked after a failure, so it never refuses a valid key.
 */
export function authenticateOperator(deps: OperatorAuthentication): onRequestAsyncHookHandler {
  return async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // The query is checked before the header, because a key in the URL has already leaked (RFC 6750 §2.3).
    if (carriesAccessToken(rawQuery(request))) return refuseRequest(request, reply, 'key_in_query')
    const credentials = readBearerCredentials(authorizationHeaders(request))
    switch (credentials.kind) {
      case 'none':
      case 'other_scheme':
        reply.header('www-authenticate', bearerChallenge({ realm: REALM }))
        return sendProblem(reply, new Problem(401, 'An operator key is required: Authorization: Bearer …'))
      case 'doubled':
        return refuseRequest(request, reply, 'doubled_header')
      case 'malformed':
        return refuseKey(request, reply, 'malformed')
      case 'token':
        return evaluateKey(credentials.accessToken, request, reply)
      default:
        return credentials satisfies never
    }
  }

  async function evaluateKey(key: string, request: FastifyRequest, reply: FastifyReply) {
    if (!isWellFormed('operatorKey', key)) return refuseKey(request, reply, 'never_issued')
    const found = await deps.operatorKeys.use(hashToken(key))
    if (found === undefined) return refuseKey(request, reply, 'unknown_operator_key')
    if (found.revokedAt !== undefined) return refuseKey(request, reply, 'revoked_operator_key')
    // Also at an address without a route: such a key learns nothing.
    if (found.purpose !== undefined && !isFor(request, found.purpose)) {
      note(request, 'other_purpose')
      return sendProblem(reply, new Problem(403, `The operator key may only ${MAY[found.purpose]}.`))
    }
    request.operator = { kind: 'operator_key', name: found.name, operatorKeyId: found.operatorKeyId }
    return undefined
  }

  async function refuseKey(request: FastifyRequest, reply: FastifyReply, reason: string): Promise<FastifyReply> {
    // Recorded before the rate limit, so that the event exists even if the limit is exceeded or unavailable.
    note(request, reason)
    await deps.limiter.count(operatorAuthenticationLimit(request.ip))
    return respond(reply, 'invalid_token')
  }

  function refuseRequest(request: FastifyRequest, reply: FastifyReply, reason: string): FastifyReply {
    note(request, reason)
    return respond(reply, 'invalid_request')
  }

  function note(request: FastifyRequest, reason: string): void {
    deps.audit.record(request, { event: 'operator_refused', reason })
  }

  function respond(reply: FastifyReply, code: keyof typeof DESCRIPTION): FastifyReply {
    const description = DESCRIPTION[code]
    reply.header('www-authenticate', bearerChallenge({ realm: REALM, error: { code, description } }))
    return sendProblem(reply, new Problem(BEARER_ERROR_STATUS[code], description), code)
  }
}

const MAY = { read: 'read', 'revoke-users': 'end the sessions and tokens of users' } as const

function isFor({ method, is404, routeOptions }: FastifyRequest, purpose: OperatorPurpose): boolean {
  if (purpose === 'read') return method === 'GET' || method === 'HEAD'
  return !is404 && routeOptions.config.operatorPurpose === purpose
}

/** The actor of an authenticated request. */
export function authorOf(request: FastifyRequest): Author {
  if (request.operator === undefined) throw new Error('an administration route was reached without authentication')
  return { actor: request.operator, requestId: request.id, address: request.ip, log: request.log }
}
