import type { TestServer } from './authorization-server.js'
import { ISSUER } from './authorization-server.js'
import type { Browser } from './browser.js'
import { authorizeUrl } from './flow.js'
import { hiddenField } from './page-content.js'
import { postTo } from './pages.js'
import type { Route } from './registered-routes.js'

/**
 * Parameters of pages and endpoints, except a new password; each request sends all of them. The test of a feature adds those that
 * only the feature reads.
 */
const PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
  'ui_locales',
  'resume',
  'again',
  'done',
  'problem',
  'page',
  'purpose',
  'token',
  'proposal',
  'code',
  'iss',
  'error',
  'error_description',
  'assertion',
  'request',
  'username',
  'password',
  'response',
  'decision',
  'answer_key',
  'question',
  'session',
  'issuer',
  'subject',
  'name',
  'current_password',
  'end_access',
  'everywhere',
  'at_provider',
  'grant_type',
  'code_verifier',
  'refresh_token',
  'client_secret',
  'token_type_hint',
  'logout_token'
]

/** The values as they are encoded in an address or a form. */
const VALUES = [
  'x',
  '0',
  '-1',
  '9'.repeat(40),
  '%00',
  '%0d%0a',
  '%ff%fe',
  '%ed%a0%80',
  '%',
  '%u0041',
  '%F0%9F%94%91',
  '%C3%A9',
  '%22%27%5C%3B--',
  '%7B%7D',
  '%5B%5D',
  'null',
  '__proto__',
  'x'.repeat(2_000),
  '%3Cscript%3E',
  'A'.repeat(43),
  '00000000-0000-0000-0000-000000000000',
  'https://%5B',
  'http://127.0.0.1:99999/',
  'javascript:alert(1)',
  '..%2f..'
]

type Answered = { request: string; status: number }

/**
 * What is sent.
 * @property parameters added to those that each request sends
 * @property id for `:id` in a path, in place of each hostile value
 */
type Requests = { routes: readonly Route[]; parameters?: readonly string[]; id?: string }

/** Sends each hostile value in all parameters to each route. @returns the requests whose response is a 5xx */
async function sendAll(
  { routes, parameters = [], id }: Requests,
  send: (sent: Route & { url: string; query: string }) => Promise<number>
): Promise<Answered[]> {
  const failed: Answered[] = []
  for (const { method, path } of routes) {
    for (const value of VALUES) {
      const url = ISSUER + path.replace(':id', id ?? value).replace(/:\w+|\*/g, value)
      const query = [...PARAMETERS, ...parameters].map((name) => `${name}=${value}`).join('&')
      const status = await send({ method, path, url, query })
      if (status >= 500) failed.push({ request: `${method} ${path} ${value}`, status })
    }
  }
  return failed
}

/** Sends hostile requests of browsers without a session. @returns the requests whose response is a 5xx */
export function sendAsAnonymous(server: TestServer, requests: Requests): Promise<Answered[]> {
  return sendAll(requests, async ({ method, url, query }) => {
    if (method === 'GET') return (await server.newBrowser().get(`${url}?${query}`)).statusCode
    return (await postTo(server, { cookies: new Map() }, `${url}?${query}`, query, { origin: ISSUER })).statusCode
  })
}

/** Their forms end the session or the app. */
const ENDS = /\/(?:logout|end-others|delete|disable)$/

/**
 * Sends hostile requests of a signed-in user, with a valid CSRF token and a valid authorization request.
 * @returns the requests whose response is a 5xx
 */
export async function sendAsUser(
  server: TestServer,
  { browser, clientId, ...requests }: Requests & { browser: Browser; clientId: string }
): Promise<Answered[]> {
  const { search } = new URL(authorizeUrl(clientId))
  const token = hiddenField((await browser.open(`${ISSUER}/account/apps`)).body, 'csrf_token')
  const headers = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
  return sendAll(requests, async ({ method, path, url, query }) => {
    if (method === 'GET') return (await browser.get(`${url}${search}&${query}`)).statusCode
    if (ENDS.test(path)) return 200
    return (await postTo(server, browser, url + search, `csrf_token=${token}&${query}`, headers)).statusCode
  })
}
