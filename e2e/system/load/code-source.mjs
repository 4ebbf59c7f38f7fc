// Issues authorization codes. The user signs in and allows the client once; later requests use the remembered consent.
import { createHttpBrowser } from '../../../packages/dev-stack/lib/client/http-browser.mjs'

/** @returns a function that returns a new code for each call */
export async function createCodeSource({ issuer, clientId, redirectUri, username, password }) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'files.read'
  })
  const start = `${issuer}/oauth/authorize?${query}`
  const browser = createHttpBrowser(issuer)
  const consent = await browser.submit(await browser.open(start), { username, password })
  codeOf(await browser.submit(consent, { decision: 'allow' }))
  return async () => codeOf(await browser.open(start))
}

function codeOf({ url, html }) {
  const code = url.searchParams.get('code')
  if (code === null) throw new Error(`No code came of ${url}: ${html.slice(0, 500)}`)
  return code
}
