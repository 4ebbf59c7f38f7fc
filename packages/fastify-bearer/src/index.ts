export { type BearerOptions, bearerPlugin, type RequireAccessToken } from './guard/bearer-plugin.js'
export type { AccessToken, AnyOfScopes } from './guard/validate-token-and-scope.js'
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
