import type { Client } from './client.js'

/** What the profile says about a client. @property keyAlgorithms `alg` of its registered keys */
export type ProfiledClient = Pick<
  Client,
  'type' | 'privateKeyJwt' | 'requiresPkce' | 'requiresPushedRequests' | 'dpopBound' | 'keepsRefreshTokens'
> & { keyAlgorithms: readonly (string | undefined)[] }

/** Not among the algorithms of FAPI 2.0 Security Profile §5.4.1. */
export const ALGORITHM_OUTSIDE_FAPI2 = 'RS256'

/**
 * What a client lacks for the profile `fapi2` (FAPI 2.0 Security Profile §5.3.2, §5.4), in the terms of its settings. Redirect URIs are
 * not among it: no client may register one with http, except on a loopback address.
 */
export function pointsMissingForFapi2(client: ProfiledClient): readonly string[] {
  const points: readonly (readonly [boolean, string])[] = [
    [client.type === 'confidential', 'type must be confidential'],
    [client.privateKeyJwt === 'required', 'auth_method must be private_key_jwt, with jwks or jwks_uri'],
    [!client.keyAlgorithms.includes(ALGORITHM_OUTSIDE_FAPI2), 'no key may have the alg RS256'],
    [client.requiresPkce, 'require_pkce must be true'],
    [client.requiresPushedRequests === true, 'require_par must be true'],
    [client.dpopBound === true, 'dpop_bound_access_tokens must be true'],
    [client.keepsRefreshTokens === true, 'refresh_rotation must be false']
  ]
  return points.filter(([holds]) => !holds).map(([, point]) => point)
}
