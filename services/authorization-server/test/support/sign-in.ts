import type { LightMyRequestResponse } from 'fastify'
import type { TestServer } from './authorization-server.js'

export type Attempt = {
  username: string
  password: string
  /** The address of the connection. */
  address?: string
  headers?: Record<string, string>
  /** Cookies that the browser has before. */
  cookies?: Record<string, string>
}

/** Opens the sign-in page and sends its form from one address. */
export async function attemptSignIn(
  server: Pick<TestServer, 'publicServer' | 'config'>,
  { username, password, address = '192.0.2.1', headers = {}, cookies = {} }: Attempt
): Promise<LightMyRequestResponse> {
  const from = { url: '/login', remoteAddress: address, headers: { accept: 'text/html', ...headers } }
  const page = await server.publicServer.inject({ ...from, method: 'GET', cookies })
  const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1]
  if (csrfToken === undefined) throw new Error(`no sign-in form in: ${page.statusCode} ${page.body}`)
  const given = Object.fromEntries(page.cookies.map(({ name, value }) => [name, value]))
  return server.publicServer.inject({
    ...from,
    method: 'POST',
    cookies: { ...cookies, ...given },
    headers: {
      ...from.headers,
      origin: new URL(server.config.issuer).origin,
      'content-type': 'application/x-www-form-urlencoded'
    },
    payload: new URLSearchParams({ csrf_token: csrfToken, username, password }).toString()
  })
}
