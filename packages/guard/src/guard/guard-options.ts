import type { ActivityOptions } from '../activity/activity-options.js'
import type { DpopOptions } from '../dpop/dpop-options.js'
import type { IntrospectionOptions, Introspector } from '../introspection/introspector.js'
import { mustBeMaxAge } from './authentication-age.js'
import type { GuardLog } from './token-guard.js'

export type GuardOptions = {
  /** The authorization server whose tokens are accepted. Compared with `iss` of a result, where present. */
  issuer: string
  /** This API's resource identifier: the audience that tokens must have, and the base of the metadata URL. */
  resource: string
  /** The realm of challenges. Default: the host of `resource`. */
  realm?: string
  /** The scopes of the metadata. Leave out scopes that clients should not request by default. */
  scopesSupported: readonly string[]
  /** Options of the introspection call, or an introspector that the caller built and closes. */
  introspection: IntrospectionOptions | Introspector
  /** `any` for an authorization server other than Valetkey. Default `valetkey`. */
  tokenFormat?: 'valetkey' | 'any'
  /**
   * Whether a result must have `aud`. `required` is the default. `if-present` accepts a result without it, for servers
   * that never send one; then this API accepts tokens that were issued for any other API of that server (RFC 9700 §2.3).
   */
  audience?: 'required' | 'if-present'
  /**
   * How many seconds ago the user may have signed in, for routes that say nothing else (RFC 9470). The authorization server must
   * send `auth_time`. Default: tokens are accepted however long ago that was.
   */
  maxAge?: number
  /**
   * The types of authorization details that this API knows (RFC 9396). A token with a detail of another type is refused, because the
   * API would not see what the user limited it to. Default: none.
   */
  authorizationDetailTypes?: readonly string[]
  /** Whether browser apps of any origin may call the guarded routes, without cookies. Default false. */
  anyOrigin?: boolean
  /**
   * The peers whose `traceparent` and `tracestate` the introspection call and the log lines carry. `true`: each peer's, for
   * an API that only your proxies can reach; or a function of the peer's IP address, as the socket has it (undefined for web
   * requests). Default: none, so that no stranger chooses trace ids.
   */
  trustTraceContext?: boolean | ((address: string | undefined) => boolean)
  /**
   * Accepts tokens that are bound to a key, with a DPoP proof (RFC 9449). Without this option they are refused. The names of proofs that
   * were used are in the memory of this process, or in a store that all processes of the API share.
   */
  dpop?: DpopOptions
  /**
   * Reports to Valetkey what apps do, as sums that its users see: see `Guard.countUse`. Without this option, nothing is counted or
   * sent.
   */
  activity?: ActivityOptions
  /** This API's clock. A token is expired if both this clock and the authorization server's `Date` say so. */
  now?: () => Date
  /** Gets refusals, outages and the state of the revocation feed. Never gets a token. */
  log?: GuardLog
  /** Called with the reason of each refusal, one of a few words that suit a counter. It must not throw. */
  onRefusal?: (reason: string) => void
}

/** @throws {TypeError} that names the first wrong option, because users of JavaScript have no compiler for it */
export function checkOptions(options: GuardOptions): void {
  const { issuer, resource, scopesSupported, introspection, maxAge, authorizationDetailTypes = [] } = options
  mustBeUrl('issuer', issuer)
  mustBeUrl('resource', resource)
  // RFC 8707 §2, RFC 9728 §1.2.
  if (resource.includes('#')) throw new TypeError('resource must not have a fragment')
  if (!Array.isArray(scopesSupported)) throw new TypeError('scopesSupported must be a list of scopes')
  mustBeMaxAge(maxAge)
  const isListOfTexts =
    Array.isArray(authorizationDetailTypes) && authorizationDetailTypes.every((type) => typeof type === 'string')
  if (!isListOfTexts) throw new TypeError('authorizationDetailTypes must be a list of strings')
  if (typeof introspection !== 'object' || introspection === null) {
    throw new TypeError('introspection must have url, clientId and clientSecret')
  }
  if ('introspect' in introspection) return
  mustBeUrl('introspection.url', introspection.url)
  for (const name of ['clientId', 'clientSecret'] as const) {
    if (typeof introspection[name] !== 'string') throw new TypeError(`introspection.${name} must be a string`)
    if (introspection[name] === '') throw new TypeError(`introspection.${name} is empty`)
  }
}

function mustBeUrl(name: string, value: unknown): void {
  const isUrl = typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value)
  if (!isUrl) throw new TypeError(`${name} must be an http or https URL`)
}
