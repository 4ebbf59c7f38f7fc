import { bucketOfAccessToken, type Client, digestToken, isWellFormed } from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { AccessTokenStore } from '../../storage/postgres/access-tokens.js'
import type { RefreshTokenStore } from '../../storage/postgres/refresh-tokens.js'

export type RevokeDeps = {
  accessTokens: Pick<AccessTokenStore, 'revoke'>
  refreshTokens: Pick<RefreshTokenStore, 'endGrant'>
  audit: AuditTrail
}

/**
 * Revokes what the client owns. An access token ends alone; a refresh token, current or rotated, ends its grant (RFC 7009
 * §2.1). The prefix says which it is, so a wrong hint cannot hide a token. Unknown, dead and other clients' tokens are
 * passed over in silence (§2.2): the answer tells nobody whether a token exists.
 */
export async function revokeToken(
  token: string,
  client: Client,
  deps: RevokeDeps,
  audited: AuditedRequest
): Promise<void> {
  const { clientId } = client
  const bucket = bucketOfAccessToken(token)
  if (bucket !== undefined) {
    const revoked = await deps.accessTokens.revoke({ digest: digestToken(token), bucket }, clientId)
    if (revoked === undefined) return
    const { userId, grantId } = revoked
    deps.audit.record(audited, { event: 'token_revoked', clientId, userId, grantId })
  } else if (isWellFormed('refreshToken', token)) {
    const ended = await deps.refreshTokens.endGrant(digestToken(token), clientId)
    if (ended === undefined) return
    deps.audit.record(audited, { event: 'grant_ended', clientId, ...ended, reason: 'revoked' })
  }
}
