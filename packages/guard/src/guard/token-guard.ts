import {
  authorizationHeaders,
  carriesAccessToken,
  type DpopErrorCode,
  dpopHeaders,
  isWellFormed,
  logMembers,
  readBearerCredentials,
  readDpopCredentials,
  type TraceContext
} from '@valetkey/oauth-protocol'
import type { ProofOutcome } from '../dpop/check-proof.js'
import type { DpopGuard } from '../dpop/dpop-guard.js'
import type { IntrospectionResult } from '../introspection/introspection-result.js'
import { IntrospectionUnavailableError } from '../introspection/introspection-unavailable.js'
import type { Introspector } from '../introspection/introspector.js'
import type { FeedLog } from '../revocations/revocation-feed.js'
import type { Outcome, Refused, Unavailable } from './outcome.js'
import { type ChallengeOptions, nonceHeaders, refuse, requestCredentials, unavailable } from './refusals.js'
import { hasTokenMember } from './token-in-parameters.js'
import {
  type BoundTokenValidation,
  challengeScope,
  findShortfall,
  maxAgeOf,
  type ScopeRequirement,
  type TokenValidation,
  validateBoundToken,
  validateTokenAndScope
} from './validate-token-and-scope.js'

/** The members of `IncomingMessage` that a guard reads. */
export type GuardRequest = {
  method?: string | undefined
  /** The URL as received: path and query, or the complete URL. */
  url?: string | undefined
  /** The URL before a framework rewrote it. DPoP proofs name this one. */
  originalUrl?: string | undefined
  /** Names and values in turn. A repeated header must be there twice, because a second token is refused. */
  rawHeaders: readonly string[]
}

/** A pino logger fits. */
export type GuardLog = FeedLog & { error(members: object, message: string): void }

/** What a framework adds to a request. A Fastify request fits. */
export type RequestContext = {
  /** The value for `X-Request-Id` of the introspection call. */
  id?: string | undefined
  /** The parsed query. A framework may use other delimiters than `&`. */
  query?: unknown
  /**
   * The trace for the introspection call and the log. It must be that of a caller that you trust, such as your own proxy
   * (`Guard.trustedTrace`).
   */
  trustedTrace?: TraceContext | undefined
  log?: GuardLog | undefined
}

export type TokenGuardDeps = {
  introspector: Pick<Introspector, 'introspect'>
  issuer: string
  resource: string
  isAudienceRequired: boolean
  maxAge: number | undefined
  authorizationDetailTypes: ReadonlySet<string>
  realm: string
  resourceMetadata: string
  isAnyOriginAllowed: boolean
  /** Tokens of Valetkey have a checksum, so a made-up token is refused without an introspection call. */
  tokenFormat: 'valetkey' | 'any'
  now: () => Date
  log: GuardLog | undefined
  onRefusal: ((reason: string) => void) | undefined
  /** Undefined: only bearer tokens are accepted. */
  dpop: DpopGuard | undefined
}

type Check = {
  deps: TokenGuardDeps
  requirement: ScopeRequirement
  context: RequestContext
  /** Of the request, if it is not Bearer. */
  scheme?: 'DPoP'
}

/** Decides about a request. No promise if a bearer token is cached, so that it costs no turn of the event loop. */
export function checkRequest(request: GuardRequest, check: Check): Outcome | Promise<Outcome> {
  const { url, rawHeaders } = request
  const { deps, context } = check
  // Checked before the header, because a token in the URL may have leaked (RFC 6750 §2.3, §5.3).
  if (hasTokenInQuery(url ?? '', context.query)) return refuseAndLog(check, 'token_in_query', 'invalid_request')
  const authorization = authorizationHeaders(rawHeaders)
  const credentials = readBearerCredentials(authorization)
  switch (credentials.kind) {
    case 'none':
      return requestCredentials(challengeOf(check))
    case 'other_scheme':
      return deps.dpop === undefined
        ? requestCredentials(challengeOf(check))
        : checkDpopRequest(request, authorization[0] ?? '', deps.dpop, check)
    case 'doubled':
      return refuseAndLog(check, 'doubled_header', 'invalid_request')
    case 'malformed':
      return refuseAndLog(check, 'malformed', 'invalid_token')
    case 'token':
      if (deps.dpop?.mode === 'required') return refuseAndLog(check, 'bearer_not_accepted', 'invalid_token')
      if (deps.tokenFormat === 'valetkey' && !isWellFormed('accessToken', credentials.accessToken)) {
        return refuseAndLog(check, 'never_issued', 'invalid_token')
      }
      return checkToken(credentials.accessToken, check)
    default:
      return credentials satisfies never
  }
}

function checkDpopRequest(
  request: GuardRequest,
  authorization: string,
  dpop: DpopGuard,
  bearerCheck: Check
): Outcome | Promise<Outcome> {
  const credentials = readDpopCredentials(authorization)
  if (credentials.kind === 'other_scheme') return requestCredentials(challengeOf(bearerCheck))
  const check: Check = { ...bearerCheck, scheme: 'DPoP' }
  if (credentials.kind === 'malformed') return refuseAndLog(check, 'malformed', 'invalid_token')
  const { accessToken } = credentials
  if (check.deps.tokenFormat === 'valetkey' && !isWellFormed('accessToken', accessToken))
    return refuseAndLog(check, 'never_issued', 'invalid_token')
  return checkBoundToken(request, accessToken, dpop, check)
}

/** The token first, so that only holders of a valid bound token cost a verification of a signature; the scope last. */
async function checkBoundToken(
  { method, url, originalUrl, rawHeaders }: GuardRequest,
  accessToken: string,
  dpop: DpopGuard,
  check: Check
): Promise<Outcome> {
  const { deps, requirement, context } = check
  let validation: BoundTokenValidation
  try {
    const result = await deps.introspector.introspect(accessToken, context.id ?? '', context.trustedTrace)
    validation = validateBoundToken(result, deps, deps.now())
  } catch (error) {
    return fail(error, check)
  }
  if (validation.kind === 'invalid_token')
    return refuseAndLog(check, validation.reason, 'invalid_token', validation.jti)
  const { accessToken: accepted, thumbprint } = validation
  const { jti } = accepted
  const bound = { method, url: originalUrl ?? url, proofs: dpopHeaders(rawHeaders), accessToken, thumbprint }
  let proof: ProofOutcome
  try {
    proof = await dpop.prove(rawHeaders, { ...bound, now: deps.now() })
  } catch (error) {
    return failProof('unexpected_error', error, check)
  }
  if (proof.kind === 'unavailable') return failProof(proof.reason, proof.error, check)
  const { nextNonce } = proof
  if (proof.kind === 'refused') return refuseAndLog(check, proof.reason, proof.code, jti, nextNonce)
  const shortfall = findShortfall(validation.result, requirement, maxAgeOf(requirement, deps), deps.now())
  if (shortfall !== undefined) return refuseAndLog(check, shortfall, shortfall, jti, nextNonce)
  return { kind: 'accepted', accessToken: accepted, ...(nextNonce && { headers: nonceHeaders(nextNonce) }) }
}

/** Refuses a request and records why. */
export function refuseAndLog(check: Check, reason: string, code: DpopErrorCode, jti?: string, nonce?: string): Refused {
  const { deps, context } = check
  const log = context.log ?? deps.log
  log?.info({ event: 'access_token_refused', reason, ...(jti && { jti }), ...traceOf(context) }, 'access token refused')
  deps.onRefusal?.(reason)
  return refuse(challengeOf(check), code, reason, nonce)
}

function challengeOf({ deps, requirement, scheme }: Check): ChallengeOptions {
  const { realm, resourceMetadata, isAnyOriginAllowed, dpop } = deps
  return {
    realm,
    resourceMetadata,
    isAnyOriginAllowed,
    scope: challengeScope(requirement),
    maxAge: maxAgeOf(requirement, deps),
    dpopMode: dpop?.mode,
    scheme
  }
}

type Introspection = ReturnType<Introspector['introspect']>

function checkToken(accessToken: string, check: Check): Outcome | Promise<Outcome> {
  const { deps, context } = check
  let introspection: Introspection
  try {
    introspection = deps.introspector.introspect(accessToken, context.id ?? '', context.trustedTrace)
  } catch (error) {
    return fail(error, check)
  }
  if (!isThenable(introspection)) return decide(introspection, check)
  return introspection.then(
    (result) => decide(result, check),
    (error: unknown) => fail(error, check)
  )
}

function decide(result: IntrospectionResult, check: Check): Outcome {
  const { deps, requirement } = check
  let validation: TokenValidation
  try {
    validation = validateTokenAndScope(result, deps, requirement, deps.now())
  } catch (error) {
    // A custom introspector returned something else.
    return fail(error, check)
  }
  if (validation.kind === 'accepted') return validation
  const reason = validation.kind === 'invalid_token' ? validation.reason : validation.kind
  return refuseAndLog(check, reason, validation.kind, validation.jti)
}

function fail(error: unknown, { deps, context }: Check): Unavailable {
  const reason = error instanceof IntrospectionUnavailableError ? error.reason : 'unexpected_error'
  const log = context.log ?? deps.log
  log?.error({ event: 'introspection_unavailable', reason, err: error, ...traceOf(context) }, 'introspection failed')
  return unavailable(deps, reason)
}

function failProof(reason: string, error: unknown, { deps, context }: Check): Unavailable {
  const log = context.log ?? deps.log
  log?.error({ event: 'proofs_unavailable', reason, err: error, ...traceOf(context) }, 'a DPoP proof was not checked')
  return unavailable(deps, reason)
}

/** The log of a request has these members already. */
function traceOf({ log, trustedTrace }: RequestContext) {
  return log === undefined && trustedTrace !== undefined && logMembers(trustedTrace)
}

/** `instanceof Promise` is not enough: a custom introspector may return a promise of another realm. */
function isThenable(introspection: Introspection): introspection is Promise<IntrospectionResult> {
  return typeof introspection === 'object' && introspection !== null && 'then' in introspection
}

function hasTokenInQuery(url: string, query: unknown): boolean {
  const questionMark = url.indexOf('?')
  if (questionMark >= 0 && carriesAccessToken(url.slice(questionMark + 1))) return true
  return hasTokenMember(query)
}
