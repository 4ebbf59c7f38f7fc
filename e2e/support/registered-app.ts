import { listFiles } from './resource.js'
import type { Addresses, Stack } from './stack.mjs'

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

  async function list(accessToken: string): Promise<string[]> {
    return (await listFiles(at.resourceUrl, accessToken)).files.map(({ name: file }) => file)
  }

  return {
    clientId,
    redirectUri,
    request(parameters = {}) {
      const query = new URLSearchParams({
        ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope, state: 'a-state' },
        ...{ code_challenge: CODE_CHALLENGE, code_challenge_method: 'S256' },
        ...parameters
      })
      return `${at.issuer}/oauth/authorize?${query}`
    },
    async redeem(answer) {
      const response = await fetch(`${at.issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'authorization_code', code: answer?.get('code') ?? '', redirect_uri: redirectUri },
          ...{ client_id: clientId, code_verifier: CODE_VERIFIER },
          ...(clientSecret !== undefined && { client_secret: clientSecret })
        })
      })
      const body = (await response.json()) as { access_token?: string }
      const accessToken = body.access_token ?? ''
      return { status: response.status, accessToken, files: response.ok ? await list(accessToken) : [] }
    },
    list,
    async revoke(accessToken) {
      const form = { token: accessToken, client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) }
      const { status } = await fetch(`${at.issuer}/oauth/revoke`, { method: 'POST', body: new URLSearchParams(form) })
      if (status !== 200) throw new Error(`The revocation got the response ${status}`)
    }
  }
}
