import { carriesAccessToken, isWellFormed, readBearerCredentials } from '@valetkey/oauth-protocol'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { IntrospectionAnswer } from '../introspection/introspection-answer.js'
import { IntrospectionUnavailableError } from '../introspection/introspection-unavailable.js'
import type { Introspector } from '../introspection/introspector.js'
import { answerUnavailable, askForCredentials, type ChallengeOptions, refuse } from './refusals.js'
import { challengeScope, isMetBy, type ScopeRequirement } from './require-scope.js'
import { type AccessToken, type TokenValidation, validateToken } from './validate-token.js'

export type TokenGuardDeps = {
  introspector: Pick<Introspector, 'introspect'>
  issuer: string
  resource: string
  isAudienceRequired: boolean
  realm: string
  resourceMetadata: string
  /** Tokens of Valetkey carry a checksum: one that was never issued is refused without a call. */
  tokenFormat: 'valetkey' | 'any'
  now: () => Date
  onRefusal: ((reason: string) => void) | undefined
}

/** Set on a request that a guard has let pass: what the challenges of that guard say. */
export const ADMITTED_BY = Symbol('valetkey.admittedBy')

declare module 'fastify' {
  interface FastifyRequest {
    [ADMITTED_BY]: ChallengeOptions | null
  }
}

/**
 * An onRequest hook that lets a request pass with a good token of fitting scope, and answers it otherwise. With a callback,
 * so that a token that is known already costs no turn of the event loop.
 */
export function tokenGuard(needs: TokenGuardDeps, requirement: ScopeRequirement): onRequestHookHandler {
  const context: ChallengeOptions = {
    realm: needs.realm,
    scope: challengeScope(requirement),
    resourceMetadata: needs.resourceMetadata
  }

  return function requireAccessToken(request, reply, done) {
    // Before the header: a token in the URL has leaked already, whatever else came with it (RFC 6750 §2.3, §5.3).
    if (carriesTokenInQuery(request)) return logAndRefuse('token_in_query', 'invalid_request')
    const credentials = readBearerCredentials(authorizationHeaders(request))
    switch (credentials.kind) {
      case 'none':
      case 'other_scheme':
        askForCredentials(reply, context)
        return
      case 'doubled':
        return logAndRefuse('doubled_header', 'invalid_request')
      case 'malformed':
        return logAndRefuse('malformed', 'invalid_token')
      case 'token':
        if (needs.tokenFormat === 'valetkey' && !isWellFormed('accessToken', credentials.accessToken)) {
          return logAndRefuse('never_issued', 'invalid_token')
        }
        return whenAnswered(introspect(needs, credentials.accessToken, request), settle, fail)
      default:
        return credentials satisfies never
    }

    function settle(answer: IntrospectionAnswer): void {
      let judgement: TokenValidation
      try {
        judgement = validateToken(answer, needs, needs.now())
      } catch (error) {
        // No answer at all, from an introspector of somebody else. Thrown on, it would end the process.
        fail(error)
        return
      }
      if (judgement.kind === 'refused') logAndRefuse(judgement.reason, 'invalid_token', judgement.jti)
      else admit(judgement.accessToken)
    }

    function admit(accessToken: AccessToken): void {
      if (isMetBy(accessToken.scope, requirement)) {
        request.accessToken = accessToken
        request[ADMITTED_BY] = context
        done()
      } else {
        logAndRefuse('insufficient_scope', 'insufficient_scope', accessToken.jti)
      }
    }

    function fail(error: unknown): void {
      if (error instanceof IntrospectionUnavailableError) {
        const { reason } = error
        request.log.error({ event: 'introspection_unavailable', reason, err: error }, 'introspection failed')
        answerUnavailable(reply)
      } else {
        done(error as Error)
      }
    }

    function logAndRefuse(reason: string, code: Parameters<typeof refuse>[2], jti?: string): void {
      request.log.info({ event: 'access_token_refused', reason, ...(jti && { jti }) }, 'access token refused')
      refuse(reply, context, code)
      needs.onRefusal?.(reason)
    }
  }
}

type Answer = ReturnType<Introspector['introspect']>

function introspect({ introspector }: TokenGuardDeps, token: string, request: FastifyRequest): Answer {
  try {
    return introspector.introspect(token, request.id)
  } catch (error) {
    return Promise.reject(error)
  }
}

function whenAnswered(
  answer: Answer,
  settle: (answer: IntrospectionAnswer) => void,
  fail: (error: unknown) => void
): void {
  // Not every promise is one of this realm's.
  if (isThenable(answer)) answer.then(settle, fail)
  else settle(answer)
}

function isThenable(answer: Answer): answer is Promise<IntrospectionAnswer> {
  return typeof answer === 'object' && answer !== null && 'then' in answer
}

function carriesTokenInQuery({ raw, query }: FastifyRequest): boolean {
  const url = raw.url ?? ''
  const questionMark = url.indexOf('?')
  if (questionMark >= 0 && carriesAccessToken(url.slice(questionMark + 1))) return true
  // A server may be told that a query can begin elsewhere, or be parsed in its own way.
  return carriesAccessTokenMember(query)
}

/** An empty parameter counts as none (RFC 6749 §3.1). */
export function carriesAccessTokenMember(parsed: unknown): boolean {
  if (typeof parsed !== 'object' || parsed === null || !('access_token' in parsed)) return false
  return parsed.access_token !== undefined && parsed.access_token !== ''
}

/** Every one of them: `headers.authorization` would show the first and hide the rest. */
function authorizationHeaders({ raw: { rawHeaders } }: FastifyRequest): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'authorization') found.push(rawHeaders[index + 1] ?? '')
  }
  return found
}
