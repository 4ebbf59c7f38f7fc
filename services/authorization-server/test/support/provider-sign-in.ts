import { ISSUER, type TestServer } from './authorization-server.js'
import type { Browser, Page } from './browser.js'
import { FORGER, type ForgingProvider } from './forging-provider.js'

/** One element of `SIGN_IN_PROVIDERS`. */
export function providerSetting(
  { issuer }: { issuer: string },
  change: Record<string, unknown> = {}
): Record<string, unknown> {
  return {
    id: 'forger',
    label: 'Example Corp',
    issuer,
    client_id: FORGER.clientId,
    client_secret: FORGER.clientSecret,
    provisioning: 'create',
    ...change
  }
}

export const providersSetting = (...settings: Record<string, unknown>[]) => ({
  SIGN_IN_PROVIDERS: JSON.stringify(settings)
})

export type Departure = { state: string; nonce: string; parameters: URLSearchParams }

/** Leaves for the provider, without following the redirect to it. */
export async function depart(browser: Browser, query = '', id = 'forger'): Promise<Departure> {
  const page = await browser.get(`${ISSUER}/login/with/${id}${query === '' ? '' : `?${query}`}`)
  const location = page.headers.location
  if (page.statusCode !== 303 || location === undefined) throw new Error(`no redirect: ${page.statusCode} ${page.body}`)
  const parameters = new URL(location).searchParams
  return { state: parameters.get('state') ?? '', nonce: parameters.get('nonce') ?? '', parameters }
}

/** The address at which the provider's response arrives. */
export function callbackUrl(parameters: Record<string, string> | URLSearchParams, id = 'forger'): string {
  return `${ISSUER}/login/with/${id}/callback?${new URLSearchParams(parameters)}`
}

/** A whole sign-in with the forging provider. @returns the page of the callback; redirects are not followed */
export async function signInWith(
  provider: ForgingProvider,
  browser: Browser,
  { query = '', claims = {} }: { query?: string; claims?: Record<string, unknown> } = {}
): Promise<Page> {
  const { state, nonce } = await depart(browser, query)
  provider.signs({ claims: { nonce, ...claims } })
  return browser.get(callbackUrl({ code: 'a code', state }))
}

/** The user of the browser's session, as the account page names it. */
export async function signedInUser(browser: Browser): Promise<string | undefined> {
  const page = await browser.get(`${ISSUER}/account/apps`)
  return /signed in as <strong><bdi>([^<]*)</.exec(page.body)?.[1]
}

/** The user names in the database. */
export async function usernames({ database }: Pick<TestServer, 'database'>): Promise<string[]> {
  const text = 'select username from users order by username'
  const rows = await database.query<{ username: string }>({ name: 'test_usernames', text, values: [] })
  return rows.map(({ username }) => username)
}
