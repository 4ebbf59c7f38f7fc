import { DPOP_ALGORITHMS } from './dpop-algorithms.js'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/**
 * Returns the path of the metadata of a protected resource: between host and path (RFC 9728 §3.1).
 * @example protectedResourceMetadataPath('https://example.com/api') // '/.well-known/oauth-protected-resource/api'
 */
export function protectedResourceMetadataPath(resource: string): string {
  const { pathname } = new URL(resource)
  return pathname === '/' ? WELL_KNOWN : WELL_KNOWN + pathname
}

/** The same as a full URL, for the challenge (RFC 9728 §5.1). */
export function protectedResourceMetadataUrl(resource: string): string {
  return new URL(resource).origin + protectedResourceMetadataPath(resource)
}

/** RFC 9728 §2. `resource` is returned byte for byte, because clients compare it (RFC 9728 §3.3). */
export function protectedResourceMetadata(about: {
  resource: string
  authorizationServers: readonly string[]
  scopesSupported: readonly string[]
  /** Whether tokens that are bound to a key are accepted, or only these. Default: no. */
  dpop?: 'allowed' | 'required' | undefined
}) {
  const isBearerRefused = about.dpop === 'required'
  return {
    resource: about.resource,
    authorization_servers: about.authorizationServers,
    scopes_supported: about.scopesSupported,
    // An empty list says that no bearer token is accepted.
    bearer_methods_supported: isBearerRefused ? [] : ['header'],
    ...(about.dpop && { dpop_signing_alg_values_supported: DPOP_ALGORITHMS }),
    ...(isBearerRefused && { dpop_bound_access_tokens_required: true })
  }
}
