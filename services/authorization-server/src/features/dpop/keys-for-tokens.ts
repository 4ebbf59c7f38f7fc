import { OAuthError, type TokenKeys } from '@valetkey/oauth-protocol'
import type { SenderConstraint } from '../../platform/sender-constraint.js'
import type { ApiDpop } from '../../storage/postgres/resource-servers.js'

/**
 * Decides which of the new tokens are bound to the key of a proof (RFC 9449 §5). The refresh token of a public client always is.
 * An access token only if its API checks proofs: any other would take it as a bearer token in silence (§7.2). A client under `fapi2` gets
 * no token for such an API.
 * @param api undefined: the API checks no proofs
 * @throws {OAuthError} if the access token must be bound and there is no proof
 */
export function keysForTokens(
  { client, dpopJkt, wasBound }: Parameters<SenderConstraint['keysFor']>[0],
  api: ApiDpop | undefined
): TokenKeys | undefined {
  if (api === undefined && client.profile === 'fapi2') {
    const description = 'The API takes no DPoP-bound tokens, and the client gets no others.'
    throw new OAuthError('invalid_target', description, { clientId: client.clientId })
  }
  if (dpopJkt !== undefined) {
    return {
      accessToken: api === undefined ? undefined : dpopJkt,
      refreshToken: client.type === 'public' ? dpopJkt : undefined
    }
  }
  const { clientId } = client
  if (api === 'required') {
    throw new OAuthError('invalid_request', 'The API takes DPoP-bound tokens only: send a DPoP proof.', { clientId })
  }
  // Otherwise a thief of the credentials of a confidential client could turn a bound grant into bearer tokens.
  if (api !== undefined && wasBound) {
    throw new OAuthError('invalid_dpop_proof', 'The grant has bound tokens: send a DPoP proof.', { clientId })
  }
  return undefined
}
