import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BindingMismatch,
  bindingMismatch,
  type Client,
  type CodeRedemption,
  hashToken,
  isWellFormed,
  lifetimesOf,
  type PresentedBinding,
  type RandomBytes,
  type TokenHash,
  type TokenLifetimes,
  type TokenResponse
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { FirstTokens } from '../../storage/postgres/exchanges.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { CodeContent, CodeStore, TakeOutcome } from '../../storage/redis/codes.js'
import { alreadyUsed, invalidGrant, wrongBinding } from './exchange-errors.js'
import type { CodeReturns } from './give-back-codes.js'
import { inSeconds, newAccessToken, newRefreshToken, tokenResponse } from './new-tokens.js'

export type RedeemDeps = {
  codes: Pick<CodeStore, 'take'>
  returns: Pick<CodeReturns, 'giveBack' | 'giveBackWhenTaken'>
  grants: Pick<GrantStore, 'storeExchange' | 'discardUndelivered' | 'findByCode' | 'endReplayed' | 'end'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  now: () => Date
  randomBytes: RandomBytes
}

/** The connection of the client, as the response of `node:http` has it. */
export type ClientConnection = {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 §4.1.3), for an authenticated client.
 * @param connection if it closes before the response, the code is given back
 */
export async function redeemCode(
  request: CodeRedemption,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest,
  connection: ClientConnection
): Promise<TokenResponse> {
  // A value with a wrong prefix, length or checksum was never issued, so it needs no lookup.
  if (!isWellFormed('authorizationCode', request.code)) throw invalidGrant('malformed_code', client)
  const codeHash = hashToken(request.code)
  const { redirectUri, codeChallenge, resource } = request
  const presented = { clientId: client.clientId, redirectUri, codeChallenge, resource }
  const grantId = randomUUID()
  // Take before issuing: a crash here costs the user one sign-in, never a second token.
  const found = await takeCode(codeHash, grantId, presented, deps)
  switch (found.kind) {
    case 'taken':
      return exchange({ ...found, grantId, codeHash }, client, deps, audited, connection)
    case 'used':
      return refuseReplay(
        replayOf({ ...found, codeHash, grantId: found.attempt }, found.mismatch, deps),
        client,
        deps,
        audited
      )
    case 'bound_elsewhere':
      throw wrongBinding(found.mismatch, client)
    case 'expired':
      throw invalidGrant('expired_code', client)
    case 'unknown':
      return refuseUnknown(codeHash, presented, client, deps, audited)
  }
}

/** Time between the two attempts to take a used code that has no grant. */
const SECOND_TAKE_AFTER_MS = 500

/**
 * A used code without a grant has two possible causes: another exchange is in progress, or an exchange failed with 503 while
 * Redis was unavailable, and Redis ran its command late. In the second case the code is given back soon. So this tries a
 * second time, to distinguish a retry after a 503 from a replay.
 */
async function takeCode(
  codeHash: TokenHash,
  grantId: string,
  presented: PresentedBinding,
  { codes, grants, returns }: RedeemDeps
): Promise<TakeOutcome> {
  const take = () =>
    codes.take(codeHash, grantId, presented).catch((error: unknown) => {
      returns.giveBackWhenTaken(codeHash, grantId)
      throw error
    })
  const found = await take()
  const mayBeGivenBack = found.kind === 'used' && found.mismatch === undefined
  if (!mayBeGivenBack || (await grants.findByCode(codeHash)) !== undefined) return found
  await sleep(SECOND_TAKE_AFTER_MS)
  return take()
}

/** A code that this exchange has taken; `grantId`: of the grant that it stores. */
type Taken = CodeContent & { grantId: string; codeHash: TokenHash }

async function exchange(
  taken: Taken,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest,
  connection: ClientConnection
): Promise<TokenResponse> {
  const { grantId, allowed } = taken
  const issuedAt = deps.now()
  const lifetimes = lifetimesOf(client, deps.lifetimes)
  const accessToken = newAccessToken(issuedAt, lifetimes, deps.randomBytes)
  const refreshableUntil = inSeconds(issuedAt, lifetimes.refreshTokenMax)
  const refreshToken = client.issuesRefreshTokens
    ? newRefreshToken(issuedAt, refreshableUntil, lifetimes, deps.randomBytes)
    : undefined
  const tokens: FirstTokens = {
    issuedAt,
    accessToken,
    refreshToken,
    refreshableUntil: refreshToken && refreshableUntil
  }
  const isStored = await storeOrGiveBack(taken, tokens, deps, connection)
  // The code was given back, and the client may have repeated the exchange: the grant of the code may be of that one.
  if (connection.destroyed) throw invalidGrant('client_disconnected', client)
  if (!isStored) return refuseUnstored(taken, client, deps, audited)
  deps.audit.record(audited, { event: 'code_redeemed', clientId: client.clientId, userId: allowed.userId, grantId })
  return tokenResponse(accessToken, refreshToken, allowed.scope, issuedAt)
}

/**
 * If Postgres fails, or the client closes its connection, the code is given back, so that the user need not sign in again. At
 * once when the connection closes: the client may repeat the exchange before Postgres responds, which would look like a
 * replay. Postgres may still commit this exchange later. No client has its tokens, so the code names its grant as undelivered,
 * and the next exchange discards it.
 * @returns whether the tokens are stored
 */
async function storeOrGiveBack(
  taken: Taken,
  tokens: FirstTokens,
  { grants, returns }: RedeemDeps,
  connection: ClientConnection
): Promise<boolean> {
  const { codeHash, grantId, allowed, undelivered } = taken
  const giveBack = () => returns.giveBack(codeHash, grantId, { allowed, undelivered: [...undelivered, grantId] })
  connection.once('close', giveBack)
  try {
    const isStored = !connection.destroyed && (await storeTokens(taken, tokens, grants))
    // Its event may be still to come.
    if (connection.destroyed) await giveBack()
    return isStored
  } catch (error) {
    await giveBack()
    throw error
  } finally {
    connection.off('close', giveBack)
  }
}

/** @returns false if the code has a grant, or the access ended after Allow */
async function storeTokens(
  { grantId, codeHash, allowed, undelivered }: Taken,
  tokens: FirstTokens,
  grants: RedeemDeps['grants']
): Promise<boolean> {
  const exchange = { grantId, codeHash, allowed, tokens }
  if (undelivered.length > 0) await grants.discardUndelivered(codeHash, undelivered)
  if (await grants.storeExchange(exchange)) return true
  if (undelivered.length === 0) return false
  // An earlier exchange was committed between the two statements.
  await grants.discardUndelivered(codeHash, undelivered)
  return grants.storeExchange(exchange)
}

/** Either Postgres has a grant of the code already (a Redis failover restored the code), or the access ended after Allow. */
async function refuseUnstored(
  { codeHash, allowed }: Taken,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const grant = await deps.grants.findByCode(codeHash)
  if (grant === undefined) throw invalidGrant('access_ended', client)
  return refuseReplay(replayOf({ codeHash, allowed, grantId: grant.grantId }, undefined, deps), client, deps, audited)
}

/** Redis does not have the code: it was never issued, or it was used so long ago that only Postgres has its grant. */
async function refuseUnknown(
  codeHash: TokenHash,
  presented: PresentedBinding,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  const grant = await deps.grants.findByCode(codeHash)
  if (grant === undefined) throw invalidGrant('unknown_code', client)
  const { grantId, userId } = grant
  const mismatch = bindingMismatch(grant.binding, presented)
  return refuseReplay({ userId, grantId, mismatch, end: () => deps.grants.end(grantId) }, client, deps, audited)
}

type Replay = {
  userId: string
  grantId: string
  mismatch: BindingMismatch | undefined
  /** Ends all tokens of the grant. */
  end(): Promise<unknown>
}

/** The grant may not be stored yet, so its ending is stored under the hash of the code. */
function replayOf(
  { codeHash, allowed, grantId }: Pick<Taken, 'codeHash' | 'allowed' | 'grantId'>,
  mismatch: BindingMismatch | undefined,
  { grants }: RedeemDeps
): Replay {
  return { userId: allowed.userId, grantId, mismatch, end: () => grants.endReplayed(codeHash, allowed) }
}

/**
 * The code was used before. If the request matches the code binding, one of two parties stole the code, and the service
 * cannot know which: all tokens of the grant end (RFC 6749 §4.1.2). A request that does not match changes nothing;
 * otherwise it could be used to end the grants of others.
 */
async function refuseReplay(
  { userId, grantId, mismatch, end }: Replay,
  client: Client,
  { audit }: RedeemDeps,
  audited: AuditedRequest
): Promise<never> {
  if (mismatch === undefined) {
    await end()
    audit.record(audited, { event: 'code_reused', clientId: client.clientId, userId, grantId })
  }
  throw alreadyUsed(mismatch, client, grantId)
}
