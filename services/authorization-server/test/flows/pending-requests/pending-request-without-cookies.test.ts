import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { addressesOn, visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

/** Follows redirects like a browser that keeps no cookies, up to the number at which browsers stop. */
async function openWithoutCookies(url: string): Promise<{ page: Page; redirects: number }> {
  for (let redirects = 0; redirects <= 20; redirects++) {
    const page = await server.newBrowser().get(url)
    if (page.statusCode !== 303) return { page, redirects }
    url = String(page.headers.location)
  }
  throw new Error(`redirected without end: ${url}`)
}

const pathOf = (page: Page) => new URL(page.url).pathname

test.each(['/oauth/authorize', '/login', '/consent'])(
  '%s shows a page about cookies to a browser that keeps none, and does not redirect for ever',
  async (step) => {
    const url = authorizeUrl(client.clientId)
    const { page, redirects } = await openWithoutCookies(url.replace('/oauth/authorize', step))
    expect(page.statusCode).toBe(400)
    expect(visibleText(page.body)).toContain('Your browser did not save our cookie')
    expect(redirects).toBeLessThan(5)
    const [link = ''] = addressesOn(page.body).filter((address) => address.includes('/oauth/'))
    expect(link.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')).toBe(url)
  }
)

test('a browser without cookies stores nothing', async () => {
  const before = await server.redis.dbsize()
  await openWithoutCookies(authorizeUrl(client.clientId))
  expect(await server.redis.dbsize()).toBe(before)
})

test('errors of the request are reported to a browser without cookies, too', async () => {
  const { page } = await openWithoutCookies(authorizeUrl('unknown'))
  expect(visibleText(page.body)).toContain('This app is not known here')
  const url = `${authorizeUrl(client.clientId, { scope: undefined })}&again=no_cookie`
  expect(String((await server.newBrowser().get(url)).headers.location)).toContain('error=invalid_scope')
})

test.each<{ step: string; browser: () => Promise<Browser> }>(
  ['/login', '/consent'].flatMap((step) => [
    { step, browser: async () => server.newBrowser() },
    { step, browser: () => signedInBrowser(server) }
  ])
)('an address of $step copied from another browser starts the request again', async ({ step, browser: start }) => {
  const copied = (await server.newBrowser().open(authorizeUrl(client.clientId))).url.replace('/login', step)
  const browser = await start()
  const page = await browser.open(copied)
  expect(page.statusCode).toBe(200)
  expect(pathOf(page)).toBe(browser.cookies.has(COOKIES.session) ? '/consent' : '/login')
})

test('parameters of the app named resume and again are ignored', async () => {
  const page = await server.newBrowser().open(`${authorizeUrl(client.clientId)}&resume=x&again=x`)
  expect([page.statusCode, pathOf(page)]).toEqual([200, '/login'])
  expect(page.url.startsWith(`${ISSUER}/login?`)).toBe(true)
})
