import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, REDIRECT_URI, type TestServer } from './authorization-server.js'
import type { Browser } from './browser.js'

export const PASSWORD = 'correct horse battery staple'

export function authorizeUrl(clientId: string, change: Record<string, string | undefined> = {}): string {
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope: 'files.read',
    state: 'a state',
    ...change
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, value)
  return `${ISSUER}/oauth/authorize?${query}`
}

/** The parameters of a redirect to the client. */
export function responseParameters(page: LightMyRequestResponse): Record<string, string> {
  return Object.fromEntries(new URL(String(page.headers.location)).searchParams)
}

type CodeOptions = {
  username?: string
  change?: Record<string, string | undefined>
  /** Signs in only without a session: most of the time of a code is that of the sign-in. Default: a new one. */
  browser?: Browser
}

/** Signs a user in and allows the request; returns the code. */
export async function obtainCode(
  server: TestServer,
  client: Credentials,
  { username = 'alice', change, browser = server.newBrowser() }: CodeOptions = {}
): Promise<string> {
  let page = await browser.open(authorizeUrl(client.clientId, change))
  if (new URL(page.url).pathname === '/login') page = await browser.submit(page, { username, password: PASSWORD })
  const { code } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
  if (code === undefined) throw new Error('no code was issued')
  return code
}

/** Sends a form to the token endpoint, or to another path, with the client's secret in the body. */
export async function post(
  server: TestServer,
  url: string,
  form: Record<string, string>,
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  return server.publicServer.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(form).toString()
  })
}

export function bodyCredentials({ clientId, clientSecret }: Credentials): Record<string, string> {
  return { client_id: clientId, client_secret: clientSecret }
}

export function basic({ clientId, clientSecret }: Credentials): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }
}

export async function exchange(
  server: TestServer,
  client: Credentials,
  code: string,
  change: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    ...bodyCredentials(client),
    ...change
  }
  return post(server, '/token', form)
}

export async function refresh(
  server: TestServer,
  client: Credentials,
  refreshToken: string,
  change: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, ...bodyCredentials(client), ...change }
  return post(server, '/token', form)
}

export async function introspect(
  server: TestServer,
  caller: Credentials,
  token: string
): Promise<LightMyRequestResponse> {
  return server.internalServer.inject({
    method: 'POST',
    url: '/introspect',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(caller) },
    payload: new URLSearchParams({ token }).toString()
  })
}
