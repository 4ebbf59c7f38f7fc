export { type BearerOptions, bearerPlugin, type RequireAccessToken } from './bearer-plugin.js'
export type { ActiveAnswer, IntrospectionAnswer } from './introspection-answer.js'
export { IntrospectionUnavailableError, type UnavailableReason } from './introspection-unavailable.js'
export {
  buildIntrospector,
  type CacheSettings,
  type CacheState,
  type IntrospectionSettings,
  type Introspector,
  type WatchedIntrospector
} from './introspector.js'
export type { CallStatistics, FeedStatistics, IntrospectorStatistics } from './introspector-statistics.js'
export type { AccessToken } from './judge-token.js'
export type { FeedLog } from './revocations/revocation-feed.js'
export type { AnyOfScopes } from './scope-requirement.js'
