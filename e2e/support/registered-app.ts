import { createApp } from '../../packages/dev-stack/lib/client/app.mjs'
import type { Addresses, Stack } from '../system/stack.mjs'
import { listFiles } from './resource.js'

/** The example of RFC 7636, appendix B. */
const CODE_VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CODE_CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

export type RegisteredApp = {
  clientId: string
  redirectUri: string
  /** The URL of the authorization request. */
  request(parameters?: Record<string, string>): string
  /** The status of the token endpoint, and the names of the files listed with the new token. */
  redeem(answer: URLSearchParams | undefined): Promise<{ status: number; accessToken: string; files: string[] }>
  /** The names of the files listed with this token. */
  list(accessToken: string): Promise<string[]>
  /** Revokes a token (RFC 7009). */
  revoke(accessToken: string): Promise<void>
}

/** Registers an app with the command line. `options` are further options of `clients create`. */
export async function registerApp(
  stack: Stack,
  at: Addresses,
  app: { name: string; redirectUri: string; scope?: string; options?: readonly string[] }
): Promise<RegisteredApp> {
  const { name, redirectUri, scope = 'files.read', options = ['--scope', scope] } = app
  const created = await stack.valetkey(['clients', 'create', '--name', name, '--redirect-uri', redirectUri, ...options])
  const { client_id: clientId = '', client_secret: clientSecret } = created

  const client = createApp({ issuer: at.issuer, clientId, clientSecret, redirectUri, scope })

  async function list(accessToken: string): Promise<string[]> {
    return (await listFiles(at.resourceUrl, accessToken)).files.map(({ name: file }) => file)
  }

  return {
    clientId,
    redirectUri,
    request(parameters = {}) {
      const pkce = { code_challenge: CODE_CHALLENGE, code_challenge_method: 'S256' }
      return client.authorizeUrl({ state: 'a-state', ...pkce, ...parameters })
    },
    async redeem(answer) {
      const { status, text } = await client.exchange(answer?.get('code') ?? '', { code_verifier: CODE_VERIFIER })
      const { access_token: accessToken = '' } = JSON.parse(text) as { access_token?: string }
      return { status, accessToken, files: status === 200 ? await list(accessToken) : [] }
    },
    list,
    async revoke(accessToken) {
      const { status } = await client.revoke(accessToken)
      if (status !== 200) throw new Error(`The revocation got the response ${status}`)
    }
  }
}
