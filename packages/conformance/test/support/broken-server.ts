import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from './broken-apps.js'
import { createAuthorizationEndpoint } from './broken-authorization.js'
import { createPushEndpoint } from './broken-pushes.js'
import { createTokenEndpoints, type Grants } from './broken-token.js'
import type { Fault, Has } from './faults.js'

/**
 * A small authorization server and an API; correct except for one fault.
 * @param isFapi2 whether it announces what the profile requires, and refuses requests that were not pushed
 */
export async function startBrokenServer(fault?: Fault, isFapi2 = false) {
  const has: Has = (one) => one === fault
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const resource = `${issuer}/api`
  const grants: Grants = { codes: new Map(), refreshTokens: new Map(), accessTokens: new Set() }
  const authorization = createAuthorizationEndpoint({ issuer, resource, has, grants })
  const tokens = createTokenEndpoints({ has, grants, tokenUrl: `${issuer}/token` })
  const pushes = createPushEndpoint({ has, authenticate: tokens.authenticate })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const url = new URL(request.url ?? '/', issuer)
    const { status, headers = {}, body = '' } = answer(request, url, new URLSearchParams(`${Buffer.concat(chunks)}`))
    response.writeHead(status, headers).end(body)
  }

  function answer(request: IncomingMessage, url: URL, form: URLSearchParams): Answer {
    const { authorization: credentials } = request.headers
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return has('has only openid-configuration') ? { status: 404 } : json(metadata())
      case '/.well-known/openid-configuration':
        return has('has only openid-configuration') ? json(metadata()) : { status: 404 }
      case '/.well-known/oauth-protected-resource/api':
        return json({
          resource: has('names another resource') ? `${resource}/` : resource,
          authorization_servers: [has('names another authorization server') ? `${issuer}/` : issuer]
        })
      case '/authorize':
        if (isFapi2 && !url.searchParams.has('request_uri') && !has('takes requests of the browser'))
          return { status: 400 }
        return withPushed(url.searchParams, false, authorization.open)
      case '/allow':
        return withPushed(url.searchParams, true, authorization.allow)
      case '/par':
        return pushes.push(request, form)
      case '/token':
        return tokens.token(request, url.searchParams, form)
      case '/revoke':
        return tokens.revoke(credentials, form)
      case '/api':
        return api(credentials, url.searchParams)
      default:
        return { status: 404 }
    }
  }

  function withPushed(query: URLSearchParams, decides: boolean, next: (query: URLSearchParams) => Answer): Answer {
    if (!query.has('request_uri')) return next(query)
    const pushed = pushes.take(query, decides)
    return pushed === undefined ? { status: 400 } : next(pushed)
  }

  function json(document: object): Answer {
    const type = has('serves metadata as text') ? 'text/plain' : 'application/json'
    return { status: 200, headers: { 'content-type': type }, body: JSON.stringify(document) }
  }

  function metadata() {
    const methods = ['client_secret_basic', 'none']
    return {
      issuer: has('names another issuer') ? `${issuer}/` : issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: has('announces an endpoint with a fragment') ? `${issuer}/token#here` : `${issuer}/token`,
      revocation_endpoint: `${issuer}/revoke`,
      ...(!has('announces no response types') && {
        response_types_supported: has('announces implicit') ? ['code', 'token'] : ['code']
      }),
      grant_types_supported: [
        'authorization_code',
        'refresh_token',
        ...(has('announces password') ? ['password'] : [])
      ],
      ...(!has('announces no PKCE') && {
        code_challenge_methods_supported: has('announces plain') ? ['S256', 'plain'] : ['S256']
      }),
      token_endpoint_auth_methods_supported: has('announces signatures without algorithms')
        ? [...methods, 'private_key_jwt']
        : methods,
      authorization_response_iss_parameter_supported: !has('does not announce iss'),
      dpop_signing_alg_values_supported: has('announces unsigned proofs') ? ['ES256', 'none'] : ['ES256'],
      client_id_metadata_document_supported: !has('does not announce client id documents'),
      pushed_authorization_request_endpoint: `${issuer}/par`,
      ...(isFapi2 && fapi2Members())
    }
  }

  function fapi2Members() {
    return {
      token_endpoint_auth_methods_supported: ['private_key_jwt', ...(has('announces secrets') ? ['none'] : [])],
      token_endpoint_auth_signing_alg_values_supported: ['ES256', ...(has('announces RS256') ? ['RS256'] : [])],
      require_pushed_authorization_requests: !has('does not require pushes'),
      ...(has('announces no proofs') && { dpop_signing_alg_values_supported: undefined })
    }
  }

  function api(credentials: string | undefined, query: URLSearchParams): Answer {
    const token = has('takes tokens in the query') ? query.get('access_token') : undefined
    const given = token ?? credentials?.replace('Bearer ', '')
    if (given !== undefined && grants.accessTokens.has(given)) return { status: 200, body: '[]' }
    const place = `resource_metadata="${issuer}/.well-known/oauth-protected-resource/api"`
    const parts = [
      ...(has('sends no resource_metadata') ? ['realm="api"'] : [place]),
      ...(given === undefined || has('sends no invalid_token') ? [] : ['error="invalid_token"'])
    ]
    return { status: 401, headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } }
  }

  return {
    issuer,
    resource,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** The user signs in and allows access immediately. */
export async function signInToBrokenServer(authorizationUrl: string): Promise<URL | undefined> {
  const response = await fetch(authorizationUrl.replace('/authorize?', '/allow?'), { redirect: 'manual' })
  const location = response.headers.get('location')
  return location === null ? undefined : new URL(location)
}
