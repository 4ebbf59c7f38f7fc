import {
  protectedResourceMetadata,
  protectedResourceMetadataPath,
  protectedResourceMetadataUrl,
  readTraceContext,
  type TraceContext,
  type TraceHeaders
} from '@valetkey/oauth-protocol'
import { readActivityOptions } from '../activity/activity-options.js'
import { createActivityReporter } from '../activity/activity-reporter.js'
import { createDpopGuard } from '../dpop/dpop-guard.js'
import { readDpopOptions } from '../dpop/dpop-options.js'
import type { ReplayStatistics } from '../dpop/replay-set.js'
import { buildIntrospector } from '../introspection/introspector.js'
import type { IntrospectorStatistics } from '../introspection/introspector-statistics.js'
import { checkOptions, type GuardOptions } from './guard-options.js'
import type { Outcome, Refused } from './outcome.js'
import {
  checkRequest,
  type GuardRequest,
  type RequestContext,
  refuseAndLog,
  type TokenGuardDeps
} from './token-guard.js'
import { hasTokenInForm } from './token-in-parameters.js'
import type { AccessToken, ScopeRequirement } from './validate-token-and-scope.js'

/** One cache, one feed connection and one set of counters, for every adapter that gets this object. */
export type Guard = {
  /**
   * Decides about a request. It returns refusals and outages, and never throws them.
   * @param requirement default: any valid token
   */
  check(request: GuardRequest, requirement?: ScopeRequirement, context?: RequestContext): Outcome | Promise<Outcome>
  /**
   * Refuses the form of an accepted request if it has a second token (RFC 6750 §2).
   * @param form parsed, or as text or bytes
   */
  checkForm(form: unknown, requirement?: ScopeRequirement, context?: RequestContext): Refused | undefined
  /**
   * The trace context of a request, for `check`; undefined without a valid one, or if `trustTraceContext` does not trust the peer.
   * @param headers those of `node:http`, or these two
   * @param address of the peer
   */
  trustedTrace(headers: TraceHeaders, address: string | undefined): TraceContext | undefined
  /**
   * Counts what an app did with a token, for the user's page of connected apps. No effect without the option `activity`, and for
   * tokens without a grant. It sends nothing, takes no promise and never throws.
   * @param action declared by an operator for this API: `valetkey resource-servers update CLIENT_ID --action …`
   * @param count how many items, such as files: a whole number from 0 on; 0 if the response had none. Default 1
   */
  countUse(accessToken: Pick<AccessToken, 'grantId'>, action: string, count?: number): void
  /** How a client that was refused finds the authorization server (RFC 9728): the document, and where to serve it. */
  readonly metadata: { path: string; url: string; document: ProtectedResourceMetadata }
  /** Whether browser apps of any origin may call the guarded routes. */
  readonly anyOrigin: boolean
  /** Whether tokens that are bound to a key are accepted with their proof, or only these; undefined: bearer tokens only. */
  readonly dpop: 'allowed' | 'required' | undefined
  /** Undefined with a custom introspector that has none. */
  statistics(): IntrospectorStatistics | undefined
  /** What this process remembers of proofs. Undefined without the option `dpop`, and with a `replayStore`. */
  replayStatistics(): ReplayStatistics | undefined
  /** Reports the last uses, and ends the feed connection and the calls. Later requests get 503, unless their token is not even well-formed. */
  close(): Promise<void>
}

/** RFC 9728 §2. */
export type ProtectedResourceMetadata = ReturnType<typeof protectedResourceMetadata>

const ANY_SCOPE: ScopeRequirement = []
const NO_CONTEXT: RequestContext = {}

/**
 * Guards an API with OAuth 2.0 access tokens, whatever its framework.
 * @throws {TypeError} that names the first wrong option
 */
export function createGuard(options: GuardOptions): Guard {
  checkOptions(options)
  const { issuer, resource, introspection, log, anyOrigin = false, trustTraceContext = false } = options
  const { tokenFormat = 'valetkey', now = () => new Date(), realm = new URL(resource).host, onRefusal } = options
  const isAudienceRequired = options.audience !== 'if-present'
  if (!isAudienceRequired) log?.warn({ event: 'audience_not_required' }, 'tokens without an audience are accepted')
  const introspector = 'introspect' in introspection ? introspection : buildIntrospector(introspection, log)
  const resourceMetadata = protectedResourceMetadataUrl(resource)
  const authorizationDetailTypes = new Set(options.authorizationDetailTypes)
  const common = { issuer, resource, isAudienceRequired, tokenFormat, maxAge: options.maxAge, now }
  const expected = { ...common, authorizationDetailTypes }
  const responses = { realm, resourceMetadata, isAnyOriginAllowed: anyOrigin }
  const dpop = options.dpop && createDpopGuard(readDpopOptions(options.dpop, resource))
  const deps: TokenGuardDeps = { introspector, ...expected, ...responses, log, onRefusal, dpop }
  const activity =
    options.activity && createActivityReporter(readActivityOptions(options.activity, introspection), { now, log })

  return {
    check: (request, requirement = ANY_SCOPE, context = NO_CONTEXT) =>
      checkRequest(request, { deps, requirement, context }),
    checkForm(form, requirement = ANY_SCOPE, context = NO_CONTEXT) {
      if (!hasTokenInForm(form)) return undefined
      return refuseAndLog({ deps, requirement, context }, 'token_in_body', 'invalid_request')
    },
    trustedTrace(headers, address) {
      if (headers.traceparent === undefined) return undefined
      const isTrusted = typeof trustTraceContext === 'function' ? trustTraceContext(address) : trustTraceContext
      return isTrusted ? readTraceContext(headers) : undefined
    },
    countUse(accessToken, action, count = 1) {
      activity?.count(accessToken.grantId, action, count)
    },
    metadata: metadataOf(options, dpop?.mode),
    anyOrigin,
    dpop: dpop?.mode,
    replayStatistics: () => dpop?.statistics(),
    statistics: () => introspector.statistics?.(),
    async close() {
      await activity?.close()
      // The guard closes only what it built.
      if (introspector !== introspection) await introspector.close()
    }
  }
}

function metadataOf({ issuer, resource, scopesSupported }: GuardOptions, dpop: Guard['dpop']): Guard['metadata'] {
  return {
    path: protectedResourceMetadataPath(resource),
    url: protectedResourceMetadataUrl(resource),
    document: protectedResourceMetadata({ resource, authorizationServers: [issuer], scopesSupported, dpop })
  }
}
