import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL, body: URLSearchParams) => void

/** A real HTTP server on a free port of 127.0.0.1, which can be stopped and started again on the same port. */
async function httpServer(handler: Handler) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    handler(request, response, new URL(request.url ?? '/', 'http://fake'), new URLSearchParams(body))
  })
  server.keepAliveTimeout = 1
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    start: () => listen(port),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const secret = (prefix: string): string => `${prefix}${randomBytes(24).toString('hex')}`

export const CLIENT_ID = 'photo-printer'
export const CLIENT_SECRET = secret('vk_cs_')

type IssuedCode = { challenge: string; redirectUri: string }

/** Validates codes, verifiers, refresh tokens and the client's secret as the real server does, without pages. */
export async function fakeAuthorizationServer() {
  const codes = new Map<string, IssuedCode>()
  const state = {
    /** The secrets that must never reach a browser or a log. */
    secrets: new Set<string>([CLIENT_SECRET]),
    liveAccessTokens: new Set<string>(),
    liveRefreshTokens: new Set<string>(),
    revoked: [] as string[],
    /** Counted at arrival; a refresh is counted when it is evaluated, after the delay. */
    tokenRequests: 0,
    refreshes: 0,
    expiresIn: 3600,
    issuesRefreshTokens: true,
    tokenStatus: 200,
    tokenDelayMs: 0
  }

  function issue(response: ServerResponse): void {
    const accessToken = secret('vk_at_')
    const refreshToken = secret('vk_rt_')
    state.liveAccessTokens.add(accessToken)
    state.liveRefreshTokens.add(refreshToken)
    state.secrets.add(accessToken).add(refreshToken)
    const refresh = state.issuesRefreshTokens ? { refresh_token: refreshToken } : {}
    json(response, 200, {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: state.expiresIn,
      scope: 'files.read',
      ...refresh
    })
  }

  function grantIsGood(body: URLSearchParams): boolean {
    if (body.get('grant_type') === 'refresh_token') {
      state.refreshes += 1
      return state.liveRefreshTokens.delete(body.get('refresh_token') ?? '')
    }
    const verifier = body.get('code_verifier') ?? ''
    state.secrets.add(verifier)
    const code = codes.get(body.get('code') ?? '')
    codes.delete(body.get('code') ?? '')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    return code?.challenge === challenge && code.redirectUri === body.get('redirect_uri')
  }

  function answerToken(request: IncomingMessage, response: ServerResponse, body: URLSearchParams): void {
    // Both halves are form-encoded before they are joined (RFC 6749 §2.3.1).
    const basic = Buffer.from(request.headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString()
    const [id, password] = basic.split(':').map(decodeURIComponent)
    if (state.tokenStatus === 503) json(response, 503, { error: 'temporarily_unavailable' })
    else if (id !== CLIENT_ID || password !== CLIENT_SECRET) {
      response.setHeader('www-authenticate', 'Basic realm="fake"')
      json(response, 401, { error: 'invalid_client' })
    } else if (grantIsGood(body)) issue(response)
    else json(response, 400, { error: 'invalid_grant' })
  }

  const server = await httpServer((request, response, url, body) => {
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(response, 200, {
          issuer: server.url,
          authorization_endpoint: `${server.url}/oauth/authorize`,
          token_endpoint: `${server.url}/token`,
          revocation_endpoint: `${server.url}/oauth/revoke`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true
        })
      case '/token':
        state.tokenRequests += 1
        setTimeout(() => answerToken(request, response, body), state.tokenDelayMs)
        return
      case '/oauth/revoke':
        state.revoked.push(body.get('token') ?? '')
        return json(response, 200, {})
      default:
        return json(response, 404, {})
    }
  })

  /** The path and query of the callback after Allow. */
  function allow(authorizationUrl: string): string {
    const query = new URL(authorizationUrl).searchParams
    const code = secret('vk_ac_')
    state.secrets.add(code)
    codes.set(code, { challenge: query.get('code_challenge') ?? '', redirectUri: query.get('redirect_uri') ?? '' })
    return `/callback?${new URLSearchParams({ code, state: query.get('state') ?? '', iss: server.url })}`
  }

  function refuse(authorizationUrl: string, error: string): string {
    const flowState = new URL(authorizationUrl).searchParams.get('state') ?? ''
    return `/callback?${new URLSearchParams({ error, state: flowState, iss: server.url })}`
  }

  return { ...server, state, allow, refuse }
}

/** Lists `files` for every live token of the fake authorization server. */
export async function fakeResourceServer(liveAccessTokens: ReadonlySet<string>) {
  const state = { status: 200, answer: { files: [] as unknown[] } as unknown, requests: [] as string[] }
  const server = await httpServer((request, response, url) => {
    state.requests.push(`${url.pathname}${url.search}`)
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (!liveAccessTokens.has(token)) {
      response.setHeader('www-authenticate', 'Bearer error="invalid_token"')
      return json(response, 401, { error: 'invalid_token' })
    }
    return json(response, state.status, state.status === 200 ? state.answer : { error: 'fake' })
  })
  return { ...server, state }
}
