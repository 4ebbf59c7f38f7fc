import { ISSUER, type TestServer } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'
import { createSoftwareAuthenticator, type Forgery, type SoftwareAuthenticator } from './software-authenticator.js'

/** The options for the authenticator on a page with passkeys. */
export function optionsOn(page: Page) {
  const json = /data-options="([^"]*)"/.exec(page.body)?.[1]
  if (json === undefined) throw new Error(`no options in: ${page.statusCode} ${page.body}`)
  return JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&#x3D;', '='))
}

/** Adds a passkey on the page of the account, as its script does. */
export async function addPasskey(
  browser: Browser,
  authenticator: SoftwareAuthenticator,
  { name = 'Laptop', forged = {} }: { name?: string; forged?: Forgery } = {}
): Promise<Page> {
  const page = await browser.open(`${ISSUER}/account/passkeys`)
  const response = authenticator.create(optionsOn(page), forged)
  return browser.submit(fromForm(page, '/account/passkeys/add'), { name, response })
}

/** A signed-in browser and a passkey of its user. */
export async function userWithPasskey(server: TestServer, username = 'alice') {
  const browser = await signedInBrowser(server, username)
  const authenticator = createSoftwareAuthenticator()
  const added = await addPasskey(browser, authenticator)
  if (!added.body.includes('You can now sign in')) throw new Error(`not added: ${added.body}`)
  return { browser, authenticator }
}

/** Signs in with a passkey on the sign-in page, as its script does. */
export async function signInWithPasskey(
  browser: Browser,
  authenticator: SoftwareAuthenticator,
  forged: Forgery = {},
  url = `${ISSUER}/login`
): Promise<Page> {
  const page = await browser.open(url)
  return sendPasskey(browser, page, authenticator.get(optionsOn(page), forged))
}

/** Sends a response with the form of the sign-in page. */
export function sendPasskey(browser: Browser, page: Page, response: string): Promise<Page> {
  return browser.submit(fromForm(page, '/login/passkey'), { response })
}

const PAGE = `${ISSUER}/account/passkeys`

/** Sends a form of the page of the account without following the redirect. */
export async function sendPasskeyForm(
  browser: Browser,
  form: 'add' | 'rename' | 'remove',
  fields: Record<string, string>
): Promise<Page> {
  return browser.submitOnly(fromForm(await browser.open(PAGE), `/account/passkeys/${form}`), fields)
}

/** The names on the page of the account. */
export const passkeyNames = ({ body }: Page) => [...body.matchAll(/<h2><bdi>([^<]*)/g)].map((match) => match[1])
