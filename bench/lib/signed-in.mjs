// Signs a user in and allows a client once, by the pages a person sees. Afterwards the same request gives codes at once.
import { createHttpBrowser } from '../../e2e/support/http-browser.mjs'

/** @returns the value of the Cookie header of that session */
export async function signInAndAllow(authorizeUrl, { username, password }) {
  const browser = createHttpBrowser(authorizeUrl)
  const consent = await browser.submit(await browser.open(authorizeUrl), { username, password })
  const { url, html } = await browser.submit(consent, { decision: 'allow' })
  if (!url.searchParams.has('code')) throw new Error(`no code at ${url}: ${html.slice(0, 500)}`)
  return browser.cookie()
}
