import { authorizationHeaders, carriesAccessToken, isWellFormed, readBearerCredentials } from '@valetkey/oauth-protocol'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { IntrospectionResult } from '../introspection/introspection-result.js'
import { IntrospectionUnavailableError } from '../introspection/introspection-unavailable.js'
import type { Introspector } from '../introspection/introspector.js'
import { type ChallengeOptions, refuse, requestCredentials, sendUnavailable } from './refusals.js'
import {
  challengeScope,
  type ScopeRequirement,
  type TokenValidation,
  validateTokenAndScope
} from './validate-token-and-scope.js'

export type TokenGuardDeps = {
  introspector: Pick<Introspector, 'introspect'>
  issuer: string
  resource: string
  isAudienceRequired: boolean
  realm: string
  resourceMetadata: string
  /** Tokens of Valetkey have a checksum, so a made-up token is refused without an introspection call. */
  tokenFormat: 'valetkey' | 'any'
  now: () => Date
  onRefusal: ((reason: string) => void) | undefined
}

/** Set on a request that a guard accepted: the challenge options of that guard. */
export const GUARD_CHALLENGE = Symbol('valetkey.guardChallenge')

declare module 'fastify' {
  interface FastifyRequest {
    [GUARD_CHALLENGE]: ChallengeOptions | null
  }
}

/**
 * An onRequest hook that accepts requests with a valid token of sufficient scope and refuses all others. It uses a
 * callback instead of a promise, so that a cached token costs no turn of the event loop.
 */
export function tokenGuard(deps: TokenGuardDeps, requirement: ScopeRequirement): onRequestHookHandler {
  const { issuer, resource, isAudienceRequired, realm, resourceMetadata } = deps
  const challenge: ChallengeOptions = { realm, scope: challengeScope(requirement), resourceMetadata }
  const expected = { issuer, resource, isAudienceRequired, requirement }

  return function requireAccessToken(request, reply, done) {
    // Checked before the header, because a token in the URL may have leaked (RFC 6750 §2.3, §5.3).
    if (hasTokenInQuery(request)) return logAndRefuse('token_in_query', 'invalid_request')
    const credentials = readBearerCredentials(authorizationHeaders(request.raw.rawHeaders))
    switch (credentials.kind) {
      case 'none':
      case 'other_scheme':
        requestCredentials(reply, challenge)
        return
      case 'doubled':
        return logAndRefuse('doubled_header', 'invalid_request')
      case 'malformed':
        return logAndRefuse('malformed', 'invalid_token')
      case 'token':
        if (deps.tokenFormat === 'valetkey' && !isWellFormed('accessToken', credentials.accessToken)) {
          return logAndRefuse('never_issued', 'invalid_token')
        }
        return whenSettled(introspect(deps, credentials.accessToken, request), decide, fail)
      default:
        return credentials satisfies never
    }

    function decide(result: IntrospectionResult): void {
      let validation: TokenValidation
      try {
        validation = validateTokenAndScope(result, expected, deps.now())
      } catch (error) {
        // A custom introspector returned something else. If this threw, the process would end.
        fail(error)
        return
      }
      if (validation.kind === 'accepted') {
        request.accessToken = validation.accessToken
        request[GUARD_CHALLENGE] = challenge
        done()
      } else {
        const reason = validation.kind === 'invalid_token' ? validation.reason : validation.kind
        logAndRefuse(reason, validation.kind, validation.jti)
      }
    }

    function fail(error: unknown): void {
      if (error instanceof IntrospectionUnavailableError) {
        const { reason } = error
        request.log.error({ event: 'introspection_unavailable', reason, err: error }, 'introspection failed')
        sendUnavailable(reply)
      } else {
        done(error as Error)
      }
    }

    function logAndRefuse(reason: string, code: Parameters<typeof refuse>[2], jti?: string): void {
      request.log.info({ event: 'access_token_refused', reason, ...(jti && { jti }) }, 'access token refused')
      refuse(reply, challenge, code)
      deps.onRefusal?.(reason)
    }
  }
}

type Introspection = ReturnType<Introspector['introspect']>

function introspect({ introspector }: TokenGuardDeps, token: string, request: FastifyRequest): Introspection {
  try {
    return introspector.introspect(token, request.id)
  } catch (error) {
    return Promise.reject(error)
  }
}

function whenSettled(
  introspection: Introspection,
  decide: (result: IntrospectionResult) => void,
  fail: (error: unknown) => void
): void {
  // Not `instanceof Promise`: a custom introspector may return a promise of another realm.
  if (isThenable(introspection)) introspection.then(decide, fail)
  else decide(introspection)
}

function isThenable(introspection: Introspection): introspection is Promise<IntrospectionResult> {
  return typeof introspection === 'object' && introspection !== null && 'then' in introspection
}

function hasTokenInQuery({ raw, query }: FastifyRequest): boolean {
  const url = raw.url ?? ''
  const questionMark = url.indexOf('?')
  if (questionMark >= 0 && carriesAccessToken(url.slice(questionMark + 1))) return true
  // Fastify can be configured to use another delimiter or parser for the query.
  return hasTokenMember(query)
}

/** An empty parameter counts as absent (RFC 6749 §3.1). */
export function hasTokenMember(parsed: unknown): boolean {
  if (typeof parsed !== 'object' || parsed === null || !('access_token' in parsed)) return false
  return parsed.access_token !== undefined && parsed.access_token !== ''
}
