import type { GrantStore } from '../../storage/postgres/grants.js'
import type { TokenGrant, TokenGrantStore } from './token-grant-store.js'

/** @property unknown number of values that are no live tokens, or whose grant an earlier value ended */
export type EndedTokens = { ended: readonly TokenGrant[]; unknown: number }

/**
 * Ends the grants of tokens, whatever client they were issued to: the holder of a token may end it. One after the other, so that a long
 * list takes one connection only.
 * @param end ends one grant; false if it had ended before
 */
export async function endReportedTokens(
  tokens: readonly string[],
  tokenGrants: TokenGrantStore,
  end: (grant: TokenGrant) => Promise<boolean>
): Promise<EndedTokens> {
  const ended: TokenGrant[] = []
  for (const token of tokens) {
    const grant = await tokenGrants.find(token)
    if (grant !== undefined && (await end(grant))) ended.push(grant)
  }
  return { ended, unknown: tokens.length - ended.length }
}

/** How an endpoint that has no other authority ends a grant. */
export const endGrantWith =
  (grants: Pick<GrantStore, 'end'>) =>
  async ({ grantId }: TokenGrant): Promise<boolean> =>
    (await grants.end(grantId)) !== undefined
