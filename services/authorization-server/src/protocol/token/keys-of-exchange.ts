import type { Client, TokenHash, TokenKeys } from '@valetkey/oauth-protocol'
import type { SenderConstraint } from '../../platform/sender-constraint.js'
import type { CodeContent } from '../../storage/redis/codes.js'
import type { CodeReturns } from './give-back-codes.js'

type TakenCode = CodeContent & { grantId: string; codeHash: TokenHash; dpopJkt: string | undefined }

/**
 * Returns the keys of the tokens for a code that this exchange has taken.
 * @throws {OAuthError} if the access token must be bound and there is no proof; the code can still be exchanged
 */
export async function keysOrGiveBack(
  { codeHash, grantId, allowed, undelivered, dpopJkt }: TakenCode,
  client: Client,
  { giveBack }: Pick<CodeReturns, 'giveBack'>,
  { keysFor }: SenderConstraint
): Promise<TokenKeys | undefined> {
  try {
    return await keysFor({ client, audience: allowed.binding.audience, dpopJkt, wasBound: false })
  } catch (error) {
    await giveBack(codeHash, grantId, { allowed, undelivered })
    throw error
  }
}
