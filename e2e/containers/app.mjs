// A client that has only the two public addresses and its credential.
import { createHash, randomBytes } from 'node:crypto'
import { createApp as createClient } from '../../packages/dev-stack/lib/client/app.mjs'
import { createHttpBrowser } from '../../packages/dev-stack/lib/client/http-browser.mjs'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'

export const REDIRECT_URI = 'http://localhost:9/callback'

export function createApp({ issuer, resourceUrl, clientId, clientSecret }) {
  const app = createClient({ issuer, clientId, clientSecret, redirectUri: REDIRECT_URI, scope: 'files.read' })
  const parsed = ({ status, text }) => ({ status, body: JSON.parse(text) })

  return {
    /**
     * Leads a user through sign-in and consent. `asked` adds or replaces parameters of the request.
     * @returns the query of the redirect, and the code verifier
     */
    async authorize(account, decision, asked = {}) {
      const codeVerifier = randomBytes(32).toString('base64url')
      const state = randomBytes(16).toString('base64url')
      const challenge = createHash('sha256').update(codeVerifier).digest('base64url')
      const address = app.authorizeUrl({ state, code_challenge: challenge, code_challenge_method: 'S256', ...asked })
      const back = await simulateUser(issuer, account).decide(address, decision)
      if (`${back.origin}${back.pathname}` !== REDIRECT_URI) throw new Error(`ended at ${back.href}`)
      return { answer: Object.fromEntries(back.searchParams), state, codeVerifier }
    },

    exchange: async (code, codeVerifier) => parsed(await app.exchange(code, { code_verifier: codeVerifier })),

    refresh: async (refreshToken) => parsed(await app.refresh(refreshToken)),

    revoke: async (token) => parsed(await app.revoke(token)),

    /** A sign-in with a wrong password and the given headers. */
    async failSignIn(username, headers) {
      const browser = createHttpBrowser(issuer, headers)
      await browser.submit(await browser.open(`${issuer}/login`), { username, password: 'not the right one' })
    },

    async listFiles(accessToken) {
      const answer = await fetch(`${resourceUrl}/v1/files`, {
        headers: { authorization: `Bearer ${accessToken}` },
        signal: AbortSignal.timeout(10_000)
      })
      return { status: answer.status, body: await answer.json() }
    }
  }
}
