// A client that has only the two public addresses and its credential.
import { createHash, randomBytes } from 'node:crypto'
import { createHttpBrowser } from '../../packages/dev-stack/lib/client/http-browser.mjs'

export const REDIRECT_URI = 'http://localhost:9/callback'

export function createApp({ issuer, resourceUrl, clientId, clientSecret }) {
  const post = async (path, fields) => {
    const answer = await fetch(`${issuer}${path}`, {
      method: 'POST',
      body: new URLSearchParams({ ...fields, client_id: clientId, client_secret: clientSecret }),
      signal: AbortSignal.timeout(10_000)
    })
    return { status: answer.status, body: await answer.json() }
  }

  return {
    /**
     * Leads a user through sign-in and consent. `asked` adds or replaces parameters of the request.
     * @returns the query of the redirect, and the code verifier
     */
    async authorize({ username, password }, decision, asked = {}) {
      const codeVerifier = randomBytes(32).toString('base64url')
      const state = randomBytes(16).toString('base64url')
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        scope: 'files.read',
        state,
        code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
        code_challenge_method: 'S256',
        ...asked
      })
      const browser = createHttpBrowser(issuer)
      const login = await browser.open(`${issuer}/oauth/authorize?${query}`)
      const consent = await browser.submit(login, { username, password })
      const { url: back } = await browser.submit(consent, { decision })
      if (`${back.origin}${back.pathname}` !== REDIRECT_URI) throw new Error(`ended at ${back.href}`)
      return { answer: Object.fromEntries(back.searchParams), state, codeVerifier }
    },

    exchange: (code, codeVerifier) =>
      post('/token', {
        grant_type: 'authorization_code',
        code,
        redirect_uri: REDIRECT_URI,
        code_verifier: codeVerifier
      }),

    refresh: (refreshToken) => post('/token', { grant_type: 'refresh_token', refresh_token: refreshToken }),

    revoke: (token) => post('/oauth/revoke', { token }),

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
