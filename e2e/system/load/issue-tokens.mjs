// Issues access tokens: a user signs in once and allows a client, which exchanges a code for each token.
import { createApp, tokensIn } from '../../../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../../../packages/dev-stack/lib/client/user.mjs'
import { ALICE, registerClient, registerUser } from '../../../packages/dev-stack/lib/services/register.mjs'

/** @import { ProofKey } from '../../../packages/dev-stack/lib/client/dpop-proof.mjs' */
/** @import { Cluster } from '../start-cluster.mjs' */
/** @typedef {Awaited<ReturnType<typeof createTokenSource>>} TokenSource */

/**
 * @param {Pick<Cluster, 'issuer' | 'valetkey'>} cluster
 * @param {{ proofKey?: ProofKey | undefined }} [options] with a key, the tokens are bound to it (RFC 9449)
 * @returns the client, the user of the tokens, and a function that issues another token
 */
export async function createTokenSource({ issuer, valetkey }, { proofKey } = {}) {
  const userId = await registerUser(valetkey, ALICE)
  const client = await registerClient(valetkey, { options: ['--no-refresh', '--consent', 'remember'] })
  const app = createApp({ issuer, proofKey, ...client })
  const user = simulateUser(issuer, ALICE)
  const start = app.authorizeUrl()
  return {
    userId,
    clientId: client.clientId,
    async nextToken() {
      return tokensIn(await app.exchange(await user.code(start))).access_token
    },
    /**
     * @param {string} token
     * @param {string} [at] the authorization server that revokes it
     */
    async revoke(token, at) {
      const { status, text } = await app.revoke(token, at)
      if (status !== 200) throw new Error(`the revocation got ${status}: ${text}`)
    }
  }
}
