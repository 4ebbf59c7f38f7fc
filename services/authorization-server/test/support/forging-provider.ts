import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export type ForgedToken = {
  claims?: Record<string, unknown>
  header?: { alg?: string; kid?: string; typ?: string }
  /** Signs instead of the key of the provider. */
  sign?: (claims: JWTPayload, header: { alg: string; kid: string }) => Promise<string> | string
}

export type ForgedAnswer = {
  status?: number
  body?: unknown
  headers?: Record<string, string>
  delayMs?: number
  hangs?: boolean
}

export const FORGER = { clientId: 'valetkey-at-forger', clientSecret: 'a secret of the forging provider' }

/**
 * An OpenID provider for tests. It signs what a test configures: wrong claims, other keys, no signature. Every endpoint can be
 * made to fail or to hang.
 */
export async function startForgingProvider(metadataChange: Record<string, unknown> = {}) {
  const keys = await generateKeyPair('RS256', { extractable: true })
  const jwk: JWK = { ...(await exportJWK(keys.publicKey)), kid: 'first', alg: 'RS256', use: 'sig' }
  const requests: { path: string; body: string; authorization: string | undefined }[] = []
  const waiting = new Set<ServerResponse>()
  let idToken: ForgedToken = {}
  let userInfo: Record<string, unknown> = { name: 'Alice Example' }
  let answers: Record<string, ForgedAnswer> = {}
  let metadata = metadataChange
  let issuer = ''

  async function issueToken({ claims = {}, header = {}, sign }: ForgedToken, defaults: JWTPayload): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const payload: JWTPayload = { iss: issuer, aud: FORGER.clientId, iat: now, exp: now + 120, ...defaults, ...claims }
    const chosen = { alg: 'RS256', kid: 'first', ...header }
    return sign?.(payload, chosen) ?? new SignJWT(payload).setProtectedHeader(chosen).sign(keys.privateKey)
  }

  const routes: Record<string, (body: string) => unknown> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
      ...metadata
    }),
    '/jwks': () => ({ keys: [jwk] }),
    '/userinfo': () => ({ sub: idToken.claims?.sub ?? 'person-1', ...userInfo }),
    // A code that is a nonce gets an ID token with it, so that concurrent sign-ins do not mix.
    '/token': async (body) => ({
      access_token: 'an upstream access token',
      token_type: 'Bearer',
      expires_in: 60,
      id_token: await issueToken(idToken, { sub: 'person-1', nonce: new URLSearchParams(body).get('code') ?? '' })
    })
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '', 'http://forger').pathname
    let body = ''
    for await (const part of request) body += part
    requests.push({ path, body, authorization: request.headers.authorization })
    const { hangs = false, status = 200, body: given, headers } = answers[path] ?? {}
    if (hangs) {
      waiting.add(response)
      return
    }
    const content = given ?? (await routes[path]?.(body)) ?? {}
    const isJwt = headers?.['content-type'] === 'application/jwt'
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(isJwt ? content : JSON.stringify(content))
  }

  const server = createServer((request, response) => void respond(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    issuer,
    publicKey: keys.publicKey,
    jwk,
    privateKey: keys.privateKey,
    requests,
    waiting,
    /** What the ID tokens from now on contain. */
    signs: (token: ForgedToken) => {
      idToken = token
    },
    tells: (claims: Record<string, unknown>) => {
      userInfo = claims
    },
    /** How endpoints respond from now on, by path. */
    answers: (changed: Record<string, ForgedAnswer>) => {
      answers = changed
    },
    announces: (changed: Record<string, unknown>) => {
      metadata = changed
    },
    logoutToken: (token: ForgedToken = {}) =>
      issueToken(
        { ...token, header: { typ: 'logout+jwt', ...token.header } },
        { jti: crypto.randomUUID(), events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }
      ),
    async close() {
      for (const response of waiting) response.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

export type ForgingProvider = Awaited<ReturnType<typeof startForgingProvider>>
