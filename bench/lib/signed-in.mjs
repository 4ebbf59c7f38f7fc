// Signs a user in and allows a client once, through the pages. Afterwards the same request returns codes without a page.
import { createHttpBrowser } from '../../packages/dev-stack/lib/client/http-browser.mjs'

/** @returns the value of the Cookie header of that session */
export async function signInAndAllow(authorizeUrl, { username, password }) {
  const browser = createHttpBrowser(authorizeUrl)
  const consent = await browser.submit(await browser.open(authorizeUrl), { username, password })
  const { url, html } = await browser.submit(consent, { decision: 'allow' })
  if (!url.searchParams.has('code')) throw new Error(`no code at ${url}: ${html.slice(0, 500)}`)
  return browser.cookie()
}
