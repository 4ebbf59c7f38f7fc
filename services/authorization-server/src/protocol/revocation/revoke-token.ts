import { bucketOfAccessToken, type Client, hashToken, isWellFormed } from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { ForeignRefreshTokens } from '../../platform/foreign-refresh-tokens.js'
import type { AccessTokenStore } from '../../storage/postgres/access-tokens.js'
import type { RefreshTokenStore } from '../../storage/postgres/refresh-tokens.js'

export type RevokeDeps = {
  accessTokens: Pick<AccessTokenStore, 'revoke'>
  refreshTokens: Pick<RefreshTokenStore, 'endGrant'>
  foreignRefreshTokens?: ForeignRefreshTokens | undefined
  audit: AuditTrail
}

/**
 * Revokes a token that was issued to the client. An access token ends alone; a refresh token, current or rotated, ends its
 * grant (RFC 7009 §2.1). The type is known from the prefix, so a wrong hint has no effect. Unknown tokens, ended tokens and
 * tokens of other clients are ignored (RFC 7009 §2.2): the response does not show whether a token exists. A refresh token of another
 * server ends as ours do.
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
    const revoked = await deps.accessTokens.revoke({ hash: hashToken(token), bucket }, clientId)
    if (revoked === undefined) return
    const { userId, grantId } = revoked
    deps.audit.record(audited, { event: 'token_revoked', clientId, userId, grantId })
  } else {
    const isOwn = isWellFormed('refreshToken', token)
    const refreshToken = isOwn ? token : await deps.foreignRefreshTokens?.findHashedPart(token)
    if (refreshToken === undefined) return
    const ended = await deps.refreshTokens.endGrant(hashToken(refreshToken), clientId)
    if (ended === undefined) return
    deps.audit.record(audited, { event: 'grant_ended', clientId, ...ended, reason: 'revoked' })
  }
}
