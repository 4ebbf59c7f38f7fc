import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, type TestServer } from './authorization-server.js'
import { type Browser, firstForm, type Page } from './browser.js'
import { authorizeUrl, PASSWORD } from './flow.js'

/** A new browser with a signed-in user, without an app. */
export async function signedInBrowser(server: TestServer, username = 'alice'): Promise<Browser> {
  const browser = server.newBrowser()
  const { issuer } = server.config
  await browser.submit(await browser.open(`${issuer}/login`), { username, password: PASSWORD })
  return browser
}

/** The consent page in a new browser with a signed-in user. */
export async function openConsent(
  server: TestServer,
  clientId: string,
  options: { change?: Record<string, string | undefined>; username?: string } = {}
): Promise<{ browser: Browser; page: Page }> {
  const browser = await signedInBrowser(server, options.username)
  return { browser, page: await browser.open(authorizeUrl(clientId, options.change)) }
}

/** A new user who is signed in and has allowed a new client that remembers consents. */
export async function userWithConsent(
  server: TestServer
): Promise<{ userId: string; username: string; client: Credentials; browser: Browser }> {
  const username = `user-${Math.random()}`
  const userId = await server.createUser(username, PASSWORD)
  const client = await server.createClient({ consent: 'remember' })
  const { browser, page } = await openConsent(server, client.clientId, { username })
  await browser.submitOnly(page, { decision: 'allow' })
  return { userId, username, client, browser }
}

/** Sends the first form of a page with the browser's cookies and exactly these headers. */
export async function postForm(
  server: TestServer,
  browser: Pick<Browser, 'cookies'>,
  page: Page,
  fields: Record<string, string | undefined>,
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const form = firstForm(page.body)
  const sent = Object.entries({ ...form.fields, ...fields })
  const body = new URLSearchParams(sent.filter((entry): entry is [string, string] => entry[1] !== undefined))
  return postTo(server, browser, form.action, body.toString(), headers)
}

export async function postTo(
  server: TestServer,
  browser: Pick<Browser, 'cookies'>,
  url: string,
  payload: string,
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const { pathname, search } = new URL(url, ISSUER)
  return server.publicServer.inject({
    method: 'POST',
    url: pathname + search,
    headers: {
      accept: 'text/html',
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'content-type': 'application/x-www-form-urlencoded',
      ...headers
    },
    payload
  })
}

/** The page from the form with this path on, because the browser sends the first form. */
export function fromForm(page: Page, path: string): Page {
  const start = page.body.search(new RegExp(`<form[^>]* action="${ISSUER}${path}[?"]`))
  if (start < 0) throw new Error(`no form goes to ${path}`)
  return Object.assign(Object.create(page), { body: page.body.slice(start) })
}

/** The page that asks for confirmation before the access of an app is ended. */
export async function openEndOfAccess(browser: Browser, clientId: string): Promise<Page> {
  const page = await browser.open(`${ISSUER}/account/apps/end?${new URLSearchParams({ client_id: clientId })}`)
  return fromForm(page, '/account/apps/end')
}

/** Signs out with the form on the account page. */
export async function signOut(browser: Browser, fields: Record<string, string> = {}): Promise<Page> {
  return browser.submit(fromForm(await browser.open(`${ISSUER}/account/apps`), '/logout'), fields)
}
