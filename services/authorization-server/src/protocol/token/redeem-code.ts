import { randomUUID } from 'node:crypto'
import {
  bindingMismatch,
  type Client,
  type CodeRedemption,
  hashToken,
  isWellFormed,
  type OAuthError,
  type PresentedBinding,
  type RandomBytes,
  type TokenHash,
  type TokenLifetimes,
  type TokenResponse
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { SenderConstraint } from '../../platform/sender-constraint.js'
import type { FirstTokens, StoredExchange } from '../../storage/postgres/exchanges.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { CodeContent, CodeStore, TakeOutcome } from '../../storage/redis/codes.js'
import { type ClientConnection, whenUnread } from './client-connection.js'
import { alreadyUsed, invalidGrant, wrongBinding } from './exchange-errors.js'
import type { CodeReturns } from './give-back-codes.js'
import { keysOrGiveBack } from './keys-of-exchange.js'
import { newFirstTokens, tokenResponse } from './new-tokens.js'

export type RedeemDeps = {
  codes: Pick<CodeStore, 'take' | 'takeOver'>
  returns: Pick<CodeReturns, 'giveBack' | 'giveBackWhenTaken'>
  grants: Pick<GrantStore, 'storeExchange' | 'discardUndelivered' | 'findByCode' | 'endReplayed'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  senderConstraint?: SenderConstraint | undefined
  /** Whether responses say when access and refresh token end. */
  tellsEnds?: boolean | undefined
  now: () => Date
  randomBytes: RandomBytes
  /** Milliseconds. */
  sleep: (milliseconds: number) => Promise<unknown>
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 §4.1.3), for an authenticated client.
 * @param connection if it closes before the client has the response, the code is given back
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
  const { redirectUri, codeChallenge, resource, dpopJkt } = request
  const presented = { clientId: client.clientId, redirectUri, codeChallenge, resource, dpopJkt }
  const grantId = randomUUID()
  // Take before issuing: a crash here costs the user one sign-in, never a second token.
  const take: Take = (how = deps.codes.take) =>
    how(codeHash, grantId, presented).catch((error: unknown) => {
      deps.returns.giveBackWhenTaken(codeHash, grantId)
      throw error
    })
  const first = await take()
  const mayComeBack = first.kind === 'used' && first.mismatch === undefined
  const found = mayComeBack ? await takeAgain(take, deps, () => requireConnected(connection, client)) : first
  const refused = { client, deps, audited, connection }
  switch (found.kind) {
    case 'taken':
      return exchange(
        { allowed: found.allowed, undelivered: found.undelivered, grantId, codeHash, dpopJkt },
        client,
        deps,
        audited,
        connection
      )
    case 'bound_elsewhere':
      throw wrongBinding(found.mismatch, client)
    case 'expired':
      throw invalidGrant('expired_code', client)
    case 'used':
      if (found.mismatch !== undefined) throw alreadyUsed(found.mismatch, client, found.attempt)
      return refuseWithoutCode(codeHash, presented, alreadyUsed(undefined, client, found.attempt), refused)
    case 'unknown':
      return refuseWithoutCode(codeHash, presented, invalidGrant('unknown_code', client), refused)
  }
}

/** How long an exchange of a used code waits for the code. Longer than the interval in `give-back-codes.ts`. */
const WAIT_FOR_RETURN_MS = 500

/** Takes the code of this exchange: by `take` unless another way is given. */
type Take = (how?: RedeemDeps['codes']['take']) => Promise<TakeOutcome>

/**
 * Takes a used code. It may be given back at any moment: its client disconnected, or it got 503. So this waits, looks again, and
 * takes the code over if it is still used. Then Postgres decides which exchange has the tokens.
 */
async function takeAgain(take: Take, { codes, sleep }: RedeemDeps, requireClient: () => void): Promise<TakeOutcome> {
  let found: TakeOutcome
  let began: number
  do {
    await sleep(WAIT_FOR_RETURN_MS)
    // The client may have repeated its request, which needs the code now.
    requireClient()
    began = performance.now()
    found = await take()
    if (found.kind !== 'used' || found.mismatch !== undefined) return found
    // Redis was stalled, so a return may have been as late as this command.
  } while (performance.now() - began > WAIT_FOR_RETURN_MS)
  requireClient()
  return take(codes.takeOver)
}

/** A code that this exchange has taken; `grantId`: of the grant that it stores. */
type Taken = CodeContent & { grantId: string; codeHash: TokenHash; dpopJkt: string | undefined }

async function exchange(
  taken: Taken,
  client: Client,
  deps: RedeemDeps,
  audited: AuditedRequest,
  connection: ClientConnection
): Promise<TokenResponse> {
  const { codeHash, grantId, allowed } = taken
  const issuedAt = deps.now()
  const endsAt = allowed.endsAt === undefined ? undefined : new Date(allowed.endsAt)
  if (endsAt !== undefined && endsAt <= issuedAt) throw invalidGrant('access_ended', client)
  const keys = deps.senderConstraint && (await keysOrGiveBack(taken, client, deps.returns, deps.senderConstraint))
  const { accessToken, refreshToken, refreshableUntil } = newFirstTokens(issuedAt, client, deps, endsAt)
  const requiresKey = client.isDiscovered && client.provedKey
  const tokens: FirstTokens = { issuedAt, accessToken, refreshToken, refreshableUntil, keys, requiresKey }
  const giveBack = () =>
    deps.returns.giveBack(codeHash, grantId, { allowed, undelivered: [...taken.undelivered, grantId] })
  const stored = await storeOrGiveBack(taken, tokens, giveBack, { grants: deps.grants, connection })
  if (stored === undefined) return refuseUnstored(codeHash, { client, deps, audited, connection })
  requireConnected(connection, client)
  whenUnread(connection, giveBack)
  const { clientId } = client
  const { userId } = allowed
  deps.audit.record(audited, { event: 'code_redeemed', clientId, userId, grantId })
  for (const ended of stored.ended)
    deps.audit.record(audited, { event: 'grant_ended', clientId, userId, grantId: ended, reason: 'too_many_grants' })
  const access = refreshableUntil ?? endsAt
  const ends = deps.tellsEnds ? { access, refreshToken: refreshToken?.expiresAt } : undefined
  return tokenResponse(accessToken, refreshToken, stored.scope, issuedAt, keys, ends)
}

/**
 * If Postgres fails, or the client closes its connection, the code is given back, so that the user need not sign in again. At
 * once when the connection closes: the client may repeat the exchange before Postgres responds, which would look like a
 * replay. Postgres may still commit this exchange later. No client has its tokens, so the code names its grant as undelivered,
 * and the next exchange discards it.
 * @returns undefined if nothing is stored
 */
async function storeOrGiveBack(
  taken: Taken,
  tokens: FirstTokens,
  giveBack: () => Promise<void>,
  stored: { grants: RedeemDeps['grants']; connection: ClientConnection }
): Promise<StoredExchange | undefined> {
  const { connection } = stored
  connection.once('close', giveBack)
  try {
    const outcome = await storeTokens(taken, tokens, stored)
    // Its event may be still to come.
    if (connection.destroyed) await giveBack()
    return outcome
  } catch (error) {
    await giveBack()
    throw error
  } finally {
    connection.off('close', giveBack)
  }
}

/**
 * Each undelivered exchange may be committed at any time once, also between two statements here.
 * @returns as `storeOrGiveBack`: undefined if the code has a grant, the access ended after Allow, or the client is gone
 */
async function storeTokens(
  { grantId, codeHash, allowed, undelivered }: Taken,
  tokens: FirstTokens,
  { grants, connection }: { grants: RedeemDeps['grants']; connection: ClientConnection }
): Promise<StoredExchange | undefined> {
  for (let tries = 0; tries <= undelivered.length; tries++) {
    if (undelivered.length > 0) await grants.discardUndelivered(codeHash, undelivered)
    // The code was given back already. Tokens that this request stores now could take the place of those of the next.
    if (connection.destroyed) return undefined
    const outcome = await grants.storeExchange({ grantId, codeHash, allowed, tokens })
    if (outcome !== undefined) return outcome
  }
  return undefined
}

/** The client that asks, and how the refusal is recorded. */
type Refused = { client: Client; deps: RedeemDeps; audited: AuditedRequest; connection: ClientConnection }

/** Another exchange of the code has stored its tokens, or the access ended after Allow. */
async function refuseUnstored(codeHash: TokenHash, refused: Refused): Promise<never> {
  const { client, deps, connection } = refused
  requireConnected(connection, client)
  const grant = await deps.grants.findByCode(codeHash)
  if (grant === undefined) throw invalidGrant('access_ended', client)
  return refuseReplay(codeHash, grant, refused)
}

/** Redis has no code that can be taken: it was never issued, or it was used so long ago that only Postgres has its grant. */
async function refuseWithoutCode(
  codeHash: TokenHash,
  presented: PresentedBinding,
  withoutGrant: OAuthError,
  refused: Refused
): Promise<never> {
  const { client, deps } = refused
  const grant = await deps.grants.findByCode(codeHash)
  if (grant === undefined) throw withoutGrant
  const mismatch = bindingMismatch(grant.binding, presented)
  // A request that does not match changes nothing; otherwise it could be used to end the grants of others.
  if (mismatch !== undefined) throw alreadyUsed(mismatch, client, grant.grantId)
  return refuseReplay(codeHash, grant, refused)
}

/**
 * The code was used before, and this request matches its binding: one of two parties stole the code, and the service cannot know
 * which. All tokens of the grant end (RFC 6749 §4.1.2).
 */
async function refuseReplay(
  codeHash: TokenHash,
  { grantId, userId }: { grantId: string; userId: string },
  { client, deps, audited, connection }: Refused
): Promise<never> {
  // This client may have repeated its request already, and that one may have the tokens.
  requireConnected(connection, client)
  await deps.grants.endReplayed(codeHash)
  deps.audit.record(audited, { event: 'code_reused', clientId: client.clientId, userId, grantId })
  throw alreadyUsed(undefined, client, grantId)
}

function requireConnected(connection: ClientConnection, client: Client): void {
  if (connection.destroyed) throw invalidGrant('client_disconnected', client)
}
