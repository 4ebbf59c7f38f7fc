export { readTraceContext, type TraceContext, type TraceHeaders, traceHeaders } from '@valetkey/oauth-protocol'
export type { ActivityOptions } from './activity/activity-options.js'
export type { DpopOptions, ReplayStore } from './dpop/dpop-options.js'
export type { ReplayStatistics } from './dpop/replay-set.js'
export { createGuard, type Guard, type ProtectedResourceMetadata } from './guard/guard.js'
export type { GuardOptions } from './guard/guard-options.js'
export type { Accepted, Outcome, Problem, Refused, Unavailable } from './guard/outcome.js'
export type { GuardLog, GuardRequest, RequestContext } from './guard/token-guard.js'
export type { AccessToken, AllOfScopes, AnyOfScopes, ScopeRequirement } from './guard/validate-token-and-scope.js'
export type { AuthorizationDetail } from './introspection/authorization-details.js'
export type { ActiveResult, IntrospectionResult } from './introspection/introspection-result.js'
export { IntrospectionUnavailableError, type UnavailableReason } from './introspection/introspection-unavailable.js'
export {
  buildIntrospector,
  type CacheOptions,
  type CacheState,
  type IntrospectionOptions,
  type Introspector,
  type WatchedIntrospector
} from './introspection/introspector.js'
export type { CallStatistics, FeedStatistics, IntrospectorStatistics } from './introspection/introspector-statistics.js'
export type { FeedLog } from './revocations/revocation-feed.js'
