import { carriesAccessToken, isWellFormed, readBearerCredentials } from '@valetkey/oauth-protocol'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { IntrospectionUnavailableError } from './introspection-endpoint.js'
import type { Introspector } from './introspector.js'
import { judgeToken } from './judge-token.js'
import { answerUnavailable, askForCredentials, type ChallengeContext, refuse } from './refusals.js'
import { challengeScope, isMetBy, type ScopeRequirement } from './scope-requirement.js'

export type TokenGuardNeeds = {
  introspector: Pick<Introspector, 'introspect'>
  issuer: string
  resource: string
  isAudienceRequired: boolean
  realm: string
  resourceMetadata: string
  /** Tokens of Valetkey carry a checksum: one that was never issued is refused without a call. */
  tokenFormat: 'valetkey' | 'any'
  now: () => Date
}

const admitted = new WeakMap<FastifyRequest, ChallengeContext>()

/** What the challenges of the guard say that let this request pass; undefined when none did. */
export const admittedBy = (request: FastifyRequest): ChallengeContext | undefined => admitted.get(request)

/** An onRequest hook that lets a request pass with a good token of fitting scope, and answers it otherwise. */
export function tokenGuard(needs: TokenGuardNeeds, requirement: ScopeRequirement): onRequestAsyncHookHandler {
  const context: ChallengeContext = {
    realm: needs.realm,
    scope: challengeScope(requirement),
    resourceMetadata: needs.resourceMetadata
  }

  return async function requireAccessToken(request, reply) {
    // Before the header: a token in the URL has leaked already, whatever else came with it (RFC 6750 §2.3, §5.3).
    if (carriesTokenInQuery(request)) return logAndRefuse('token_in_query', 'invalid_request')
    const credentials = readBearerCredentials(authorizationHeaders(request))
    switch (credentials.kind) {
      case 'none':
      case 'other_scheme':
        return askForCredentials(reply, context)
      case 'doubled':
        return logAndRefuse('doubled_header', 'invalid_request')
      case 'malformed':
        return logAndRefuse('malformed', 'invalid_token')
      case 'token':
        return admit(credentials.accessToken)
      default:
        return credentials satisfies never
    }

    async function admit(token: string): Promise<FastifyReply | undefined> {
      if (needs.tokenFormat === 'valetkey' && !isWellFormed('accessToken', token)) {
        return logAndRefuse('never_issued', 'invalid_token')
      }
      const judgement = await judge(needs, token, request)
      switch (judgement.kind) {
        case 'unknown':
          return answerUnavailable(reply)
        case 'refused':
          return logAndRefuse(judgement.reason, 'invalid_token', judgement.jti)
        case 'accepted':
          if (!isMetBy(judgement.accessToken.scope, requirement)) {
            return logAndRefuse('insufficient_scope', 'insufficient_scope', judgement.accessToken.jti)
          }
          request.accessToken = judgement.accessToken
          admitted.set(request, context)
          return undefined
        default:
          return judgement satisfies never
      }
    }

    function logAndRefuse(reason: string, code: Parameters<typeof refuse>[2], jti?: string): FastifyReply {
      request.log.info({ event: 'access_token_refused', reason, ...(jti && { jti }) }, 'access token refused')
      return refuse(reply, context, code)
    }
  }
}

async function judge(needs: TokenGuardNeeds, token: string, request: FastifyRequest) {
  try {
    return judgeToken(await needs.introspector.introspect(token, request.id), needs, needs.now())
  } catch (error) {
    if (!(error instanceof IntrospectionUnavailableError)) throw error
    request.log.error({ event: 'introspection_unavailable', reason: error.reason, err: error }, 'introspection failed')
    return { kind: 'unknown' } as const
  }
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
function authorizationHeaders(request: FastifyRequest): readonly string[] {
  const { rawHeaders } = request.raw
  return rawHeaders.filter(
    (_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization'
  )
}
