import type { LightMyRequestResponse } from 'fastify'
import { ISSUER, type TestServer } from './authorization-server.js'
import { type Browser, firstForm, type Page } from './browser.js'
import { authorizeUrl, PASSWORD } from './flow.js'

/** A new browser with a signed-in user, without an app. */
export async function signedInBrowser(server: TestServer, username = 'alice'): Promise<Browser> {
  const browser = server.newBrowser()
  const { issuer } = server.config
  await browser.submit(await browser.open(`${issuer}/login`), { username, password: PASSWORD })
  return browser
}

/** The consent page, as a fresh browser with its user signed in sees it. */
export async function openConsent(
  server: TestServer,
  clientId: string,
  options: { change?: Record<string, string | undefined>; username?: string } = {}
): Promise<{ browser: Browser; page: Page }> {
  const browser = await signedInBrowser(server, options.username)
  return { browser, page: await browser.open(authorizeUrl(clientId, options.change)) }
}

/** The first form of a page, sent with exactly these headers besides the browser's cookies: no Origin unless it is named. */
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

/** The page from the form on that goes to this path, for a browser that sends the first form it finds. */
export function fromForm(page: Page, path: string): Page {
  const start = page.body.search(new RegExp(`<form[^>]* action="${ISSUER}${path}[?"]`))
  if (start < 0) throw new Error(`no form goes to ${path}`)
  return Object.assign(Object.create(page), { body: page.body.slice(start) })
}

/** Signs out as a person does, on the page of the account. */
export async function signOut(browser: Browser, fields: Record<string, string> = {}): Promise<Page> {
  return browser.submit(fromForm(await browser.open(`${ISSUER}/account/apps`), '/logout'), fields)
}
