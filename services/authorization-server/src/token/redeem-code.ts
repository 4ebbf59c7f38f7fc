import {
  type Client,
  CODE_ALREADY_USED,
  type CodeRedemption,
  digestToken,
  INVALID_GRANT,
  isWellFormed,
  OAuthError,
  type RandomBytes,
  type TokenDigest,
  type TokenResponse
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../audit/audit-trail.js'
import { lifetimesOf, type TokenLifetimes } from '../clients/client-lifetimes.js'
import type { CodeMismatch, CodePresentation, CodeStore } from '../storage/codes.js'
import type { GrantStore, RedeemedGrant } from '../storage/grants.js'
import { inSeconds, newAccessToken, newRefreshToken, tokenResponse } from './mint-tokens.js'

export type RedeemDeps = {
  codes: Pick<CodeStore, 'take' | 'putBack'>
  grants: Pick<GrantStore, 'redeem' | 'findByCode' | 'end'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  now: () => Date
  randomBytes: RandomBytes
}

/** Exchanges an authorization code for tokens (RFC 6749 §4.1.3), for a client that has proved itself. */
export async function redeemCode(
  request: CodeRedemption,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<TokenResponse> {
  // A value with a wrong prefix, length or checksum was never issued: no lookup.
  if (!isWellFormed('authorizationCode', request.code)) throw invalidGrant('malformed_code', client)
  const digest = digestToken(request.code)
  const { redirectUri, codeChallenge, resource } = request
  const presented = { clientId: client.clientId, redirectUri, codeChallenge, resource }
  // Take before minting: a crash here costs the user one sign-in, never a second token.
  const found = await deps.codes.take(digest, presented)
  switch (found.kind) {
    case 'taken':
      return issueTokens(digest, found, client, deps, audited)
    case 'spent':
      return refuseReplay(found, client, deps, audited)
    case 'bound_elsewhere':
      throw refuseMismatch(found.mismatch, client)
    case 'unknown':
      return refuseUnknown(digest, presented, client, deps, audited)
  }
}

type TakenCode = { grantId: string; attempt: string }

async function issueTokens(
  digest: TokenDigest,
  taken: TakenCode,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<TokenResponse> {
  const now = deps.now()
  const lifetimes = lifetimesOf(client, deps.lifetimes)
  const accessToken = newAccessToken(now, lifetimes, deps.randomBytes)
  const refreshableUntil = inSeconds(now, lifetimes.refreshTokenMax)
  const refreshToken = client.issuesRefreshTokens
    ? newRefreshToken(now, refreshableUntil, lifetimes, deps.randomBytes)
    : undefined
  const tokens = { accessToken, refreshToken, refreshableUntil: refreshToken && refreshableUntil }
  const redeemed = await redeemOrPutBack(digest, taken, tokens, deps)
  // Redis gave a code that Postgres has seen redeemed: a failover brought it back.
  if (redeemed === undefined)
    return refuseReplay({ grantId: taken.grantId, mismatch: undefined }, client, deps, audited)
  const concerned = { clientId: client.clientId, userId: redeemed.userId, grantId: taken.grantId }
  deps.audit.record(audited, { event: 'code_redeemed', ...concerned })
  return tokenResponse(accessToken, refreshToken, redeemed.scope, now)
}

/** An outage must not cost the user a sign-in: the code goes back for what is left of its life. */
async function redeemOrPutBack(
  digest: TokenDigest,
  taken: TakenCode,
  tokens: Parameters<GrantStore['redeem']>[1],
  deps: RedeemDeps
): ReturnType<GrantStore['redeem']> {
  try {
    return await deps.grants.redeem(digest, tokens, deps.now())
  } catch (error) {
    // If Redis is away too there is nothing more to save; the first error is the one to report.
    await deps.codes.putBack(digest, taken.attempt).catch(() => {})
    throw error
  }
}

/**
 * A code that was used before. If the request is right in everything else, one of the two holders stole it, and nobody
 * can tell which: all tokens of the grant die (RFC 6749 §4.1.2). A wrong request changes nothing, or it would be a lever.
 */
async function refuseReplay(
  spent: { grantId: string; mismatch: CodeMismatch | undefined },
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const { grantId, mismatch } = spent
  if (mismatch === undefined) {
    const ended = await deps.grants.end(grantId, deps.now())
    deps.audit.record(audited, { event: 'code_reused', clientId: client.clientId, userId: ended?.userId, grantId })
  }
  throw new OAuthError('invalid_grant', CODE_ALREADY_USED, {
    reason: mismatch === undefined ? 'code_used' : `code_used_and_wrong_${mismatch}`,
    clientId: client.clientId,
    grantId
  })
}

/** Redis does not know it: never issued, expired, or used so long ago that only the grant remembers. */
async function refuseUnknown(
  digest: TokenDigest,
  presented: CodePresentation,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const grant = await deps.grants.findByCode(digest)
  if (grant?.redeemed) {
    return refuseReplay({ grantId: grant.grantId, mismatch: mismatchOf(presented, grant) }, client, deps, audited)
  }
  throw invalidGrant(grant === undefined ? 'unknown_code' : 'expired_code', client)
}

/** The same comparison, in the same order, as the one that takes a code out of Redis. */
function mismatchOf(presented: CodePresentation, grant: RedeemedGrant): CodeMismatch | undefined {
  if (presented.clientId !== grant.clientId) return 'client'
  if (presented.redirectUri !== grant.redirectUri) return 'redirect_uri'
  if (presented.codeChallenge !== grant.codeChallenge) return 'code_challenge'
  if (presented.resource !== undefined && presented.resource !== grant.audience) return 'resource'
  return undefined
}

function refuseMismatch(mismatch: CodeMismatch, client: Client): OAuthError {
  if (mismatch !== 'resource') return invalidGrant(`wrong_${mismatch}`, client)
  return new OAuthError('invalid_target', 'The code was issued for another resource.', { clientId: client.clientId })
}

function invalidGrant(reason: string, client: Client): OAuthError {
  return new OAuthError('invalid_grant', INVALID_GRANT, { reason, clientId: client.clientId })
}
