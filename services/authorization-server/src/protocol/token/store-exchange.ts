import type { TokenHash } from '@valetkey/oauth-protocol'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { CodeContent } from '../../storage/redis/codes.js'
import type { CodeReturns } from './return-codes.js'

/** The connection of the client, as the response of `node:http` has it. */
export type ClientConnection = {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** A code that this exchange has taken; `grantId`: of the grant that it stores. */
export type Taken = CodeContent & { grantId: string; codeHash: TokenHash }

type StoreDeps = {
  grants: Pick<GrantStore, 'storeExchange' | 'discardUndelivered'>
  returns: Pick<CodeReturns, 'giveBack'>
}

type NewTokens = Parameters<GrantStore['storeExchange']>[0]['tokens']

/**
 * If Postgres fails, or the client closes its connection, the code is given back, so that the user need not sign in again. At
 * once when the connection closes: the client may repeat the exchange before Postgres responds, which would look like a
 * replay. Postgres may still commit this exchange later. No client has its tokens, so the code names its grant as undelivered,
 * and the next exchange discards it.
 * @returns whether the tokens are stored
 */
export async function storeOrGiveBack(
  taken: Taken,
  tokens: NewTokens,
  { grants, returns }: StoreDeps,
  connection: ClientConnection
): Promise<boolean> {
  const returnCode = () => giveBack(taken, returns)
  connection.once('close', returnCode)
  try {
    const isStored = !connection.destroyed && (await storeTokens(taken, tokens, grants))
    // Its event may be still to come.
    if (connection.destroyed) await returnCode()
    return isStored
  } catch (error) {
    await returnCode()
    throw error
  } finally {
    connection.off('close', returnCode)
  }
}

/** @returns false if the code has a grant, or the access ended after Allow */
async function storeTokens(
  { grantId, codeHash, allowed, undelivered }: Taken,
  tokens: NewTokens,
  grants: StoreDeps['grants']
): Promise<boolean> {
  const exchange = { grantId, codeHash, allowed, tokens }
  if (undelivered.length > 0) await grants.discardUndelivered(codeHash, undelivered)
  if (await grants.storeExchange(exchange)) return true
  if (undelivered.length === 0) return false
  // An earlier exchange was committed between the two statements.
  await grants.discardUndelivered(codeHash, undelivered)
  return grants.storeExchange(exchange)
}

/** Gives the code back, with the undelivered grants that the next exchange must discard. */
async function giveBack(
  { codeHash, grantId, allowed, undelivered }: Taken,
  returns: StoreDeps['returns']
): Promise<void> {
  await returns.giveBack(codeHash, grantId, { allowed, undelivered: [...undelivered, grantId] })
}
