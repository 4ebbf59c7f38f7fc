import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BindingMismatch,
  bindingMismatch,
  type Client,
  CODE_ALREADY_USED,
  type CodeRedemption,
  digestToken,
  INVALID_GRANT,
  isWellFormed,
  OAuthError,
  type PresentedBinding,
  type RandomBytes,
  type TokenDigest,
  type TokenResponse
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import { lifetimesOf, type TokenLifetimes } from '../../platform/clients/client-lifetimes.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { AllowedGrant, CodeContent, CodeStore, TakeOutcome } from '../../storage/redis/codes.js'
import { inSeconds, newAccessToken, newRefreshToken, tokenResponse } from './mint-tokens.js'
import type { CodeReturns } from './return-codes.js'

export type RedeemDeps = {
  codes: Pick<CodeStore, 'take'>
  returns: Pick<CodeReturns, 'giveBack' | 'giveBackWhenTaken'>
  grants: Pick<GrantStore, 'storeExchange' | 'discardUndelivered' | 'findByCode' | 'endReplayed' | 'end'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  now: () => Date
  randomBytes: RandomBytes
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 4.1.3), for a client that has authenticated.
 * @param isClientGone whether the answer can no longer reach the client; the code is then as good as before
 */
export async function redeemCode(
  request: CodeRedemption,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest,
  isClientGone = () => false
): Promise<TokenResponse> {
  // A value with a wrong prefix, length or checksum was never issued: no lookup.
  if (!isWellFormed('authorizationCode', request.code)) throw invalidGrant('malformed_code', client)
  const codeDigest = digestToken(request.code)
  const { redirectUri, codeChallenge, resource } = request
  const presented = { clientId: client.clientId, redirectUri, codeChallenge, resource }
  const grantId = randomUUID()
  // Take before issuing: a crash here costs the user one sign-in, never a second token.
  const found = await takeCode(codeDigest, grantId, presented, deps)
  switch (found.kind) {
    case 'taken':
      return exchange({ ...found, grantId, codeDigest }, client, deps, audited, isClientGone)
    case 'used':
      return refuseReplay({ ...found, codeDigest }, client, deps, audited)
    case 'bound_elsewhere':
      throw refuseMismatch(found.mismatch, client)
    case 'expired':
      throw invalidGrant('expired_code', client)
    case 'unknown':
      return refuseUnknown(codeDigest, presented, client, deps, audited)
  }
}

/** How long after the first look at a used code without a grant the second look comes. */
const LOOK_AGAIN_MS = 500

/**
 * A used code without a grant belongs to an exchange that is under way, or to one that was answered with 503 while Redis
 * was unavailable: Redis has just taken the code for it, late, and what gives the code back follows. The second look tells
 * a retry of the client after such a 503 from a replay.
 */
async function takeCode(
  codeDigest: TokenDigest,
  grantId: string,
  presented: PresentedBinding,
  { codes, grants, returns }: RedeemDeps
): Promise<TakeOutcome> {
  const take = () =>
    codes.take(codeDigest, grantId, presented).catch((error: unknown) => {
      returns.giveBackWhenTaken(codeDigest, grantId)
      throw error
    })
  const found = await take()
  const mayBeGivenBack = found.kind === 'used' && found.mismatch === undefined
  if (!mayBeGivenBack || (await grants.findByCode(codeDigest)) !== undefined) return found
  await sleep(LOOK_AGAIN_MS)
  return take()
}

type Taken = CodeContent & { grantId: string; codeDigest: TokenDigest }

async function exchange(
  taken: Taken,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest,
  isClientGone: () => boolean
): Promise<TokenResponse> {
  const { grantId, allowed } = taken
  const issuedAt = deps.now()
  const lifetimes = lifetimesOf(client, deps.lifetimes)
  const accessToken = newAccessToken(issuedAt, lifetimes, deps.randomBytes)
  const refreshableUntil = inSeconds(issuedAt, lifetimes.refreshTokenMax)
  const refreshToken = client.issuesRefreshTokens
    ? newRefreshToken(issuedAt, refreshableUntil, lifetimes, deps.randomBytes)
    : undefined
  const tokens = { issuedAt, accessToken, refreshToken, refreshableUntil: refreshToken && refreshableUntil }
  if (!(await storeOrGiveBack(taken, tokens, deps))) return refuseUnstored(taken, client, deps, audited)
  if (isClientGone()) await giveBack(taken, deps.returns)
  deps.audit.record(audited, { event: 'code_redeemed', clientId: client.clientId, userId: allowed.userId, grantId })
  return tokenResponse(accessToken, refreshToken, allowed.scope, issuedAt)
}

/**
 * An outage must not cost the user a sign-in: the code is given back, with a note of this exchange. Postgres may commit it
 * later; its tokens are then in no client's hands, and the next exchange discards them.
 */
async function storeOrGiveBack(
  taken: Taken,
  tokens: Parameters<GrantStore['storeExchange']>[0]['tokens'],
  { grants, returns }: RedeemDeps
): Promise<boolean> {
  const { grantId, codeDigest, allowed, undelivered } = taken
  try {
    const exchange = { grantId, codeDigest, allowed, tokens }
    if (undelivered.length > 0) await grants.discardUndelivered(codeDigest, undelivered)
    if (await grants.storeExchange(exchange)) return true
    if (undelivered.length === 0) return false
    // An earlier exchange was committed between the two statements.
    await grants.discardUndelivered(codeDigest, undelivered)
    return await grants.storeExchange(exchange)
  } catch (error) {
    await giveBack(taken, returns)
    throw error
  }
}

/** No client has the tokens of this exchange. The note says which grants the next exchange must discard. */
async function giveBack(
  { codeDigest, grantId, allowed, undelivered }: Taken,
  returns: RedeemDeps['returns']
): Promise<void> {
  await returns.giveBack(codeDigest, grantId, { allowed, undelivered: [...undelivered, grantId] })
}

/** Redis gave a code that Postgres knows as used (a failover restored it), or the access has ended since Allow. */
async function refuseUnstored(
  { codeDigest, allowed }: Taken,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const grant = await deps.grants.findByCode(codeDigest)
  if (grant === undefined) throw invalidGrant('access_ended', client)
  return refuseReplay({ codeDigest, allowed, attempt: grant.grantId, mismatch: undefined }, client, deps, audited)
}

/**
 * The code was used before. If the request fits in everything else, one of the two holders stole the code, and the service
 * cannot tell which: all tokens of the grant end (RFC 6749 4.1.2). A request that does not fit changes nothing; otherwise
 * it could be used to end grants of others.
 */
async function refuseReplay(
  used: { codeDigest: TokenDigest; allowed: AllowedGrant; attempt: string; mismatch: BindingMismatch | undefined },
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const { codeDigest, allowed, attempt: grantId, mismatch } = used
  if (mismatch === undefined) {
    await deps.grants.endReplayed(codeDigest, allowed)
    const concerned = { clientId: client.clientId, userId: allowed.userId, grantId }
    deps.audit.record(audited, { event: 'code_reused', ...concerned })
  }
  throw alreadyUsed(mismatch, client, grantId)
}

/** Redis does not know the code: it was never issued, or it was used so long ago that only the grant remembers. */
async function refuseUnknown(
  codeDigest: TokenDigest,
  presented: PresentedBinding,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const grant = await deps.grants.findByCode(codeDigest)
  if (grant === undefined) throw invalidGrant('unknown_code', client)
  const { grantId, userId, binding } = grant
  const mismatch = bindingMismatch(binding, presented)
  if (mismatch === undefined) {
    await deps.grants.end(grantId)
    deps.audit.record(audited, { event: 'code_reused', clientId: client.clientId, userId, grantId })
  }
  throw alreadyUsed(mismatch, client, grantId)
}

function alreadyUsed(mismatch: BindingMismatch | undefined, client: Client, grantId: string): OAuthError {
  return new OAuthError('invalid_grant', CODE_ALREADY_USED, {
    reason: mismatch === undefined ? 'code_used' : `code_used_and_wrong_${mismatch}`,
    clientId: client.clientId,
    grantId
  })
}

function refuseMismatch(mismatch: BindingMismatch, client: Client): OAuthError {
  if (mismatch !== 'resource') return invalidGrant(`wrong_${mismatch}`, client)
  return new OAuthError('invalid_target', 'The code was issued for another resource.', { clientId: client.clientId })
}

function invalidGrant(reason: string, client: Client): OAuthError {
  return new OAuthError('invalid_grant', INVALID_GRANT, { reason, clientId: client.clientId })
}
