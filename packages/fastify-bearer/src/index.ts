export { type BearerOptions, bearerPlugin, type RequireAccessToken } from './bearer-plugin.js'
export type { ActiveAnswer, IntrospectionAnswer } from './introspection-answer.js'
export {
  buildIntrospector,
  type IntrospectionSettings,
  IntrospectionUnavailableError,
  type Introspector,
  type UnavailableReason
} from './introspector.js'
export type { AccessToken } from './judge-token.js'
export type { AnyOfScopes } from './scope-requirement.js'
