// Issues access tokens: a user signs in once and allows a client, which exchanges a code for each token.
import { createCodeSource } from './code-source.mjs'

const REDIRECT_URI = 'https://app.example/callback'
const PASSWORD = 'correct horse battery staple'

/** @returns the client, the user of the tokens, and a function that issues another token */
export async function createTokenSource({ issuer, valetkey }, username = 'alice') {
  const user = await valetkey(['users', 'create', username, '--password-stdin', '--json'], { input: PASSWORD })
  const registration = ['--name', 'Load', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read', '--no-refresh']
  const client = await valetkey(['clients', 'create', ...registration, '--consent', 'remember', '--json'])
  const account = { username, password: PASSWORD }
  const nextCode = await createCodeSource({ issuer, clientId: client.client_id, redirectUri: REDIRECT_URI, ...account })
  const credentials = { client_id: client.client_id, client_secret: client.client_secret }

  async function post(address, form, at = issuer) {
    const body = new URLSearchParams({ ...form, ...credentials })
    const response = await fetch(`${at}${address}`, { method: 'POST', body })
    const answer = await response.json()
    if (!response.ok) throw new Error(`${address} answered ${response.status}: ${JSON.stringify(answer)}`)
    return answer
  }

  return {
    userId: user.user_id,
    clientId: client.client_id,
    async nextToken() {
      const form = { grant_type: 'authorization_code', code: await nextCode(), redirect_uri: REDIRECT_URI }
      return (await post('/token', form)).access_token
    },
    /** @param at the authorization server that issues it */
    revoke: (token, at) => post('/oauth/revoke', { token }, at)
  }
}
