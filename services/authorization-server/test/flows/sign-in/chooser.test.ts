import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { COOKIES, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'

const PROVIDER = { issuer: 'https://a.example', client_id: 'valetkey', client_secret: 's' }
const PROVIDERS = [
  { ...PROVIDER, id: 'first', label: 'First & Co' },
  { ...PROVIDER, id: 'second', label: 'Second', issuer: 'https://b.example' }
]

const links = (body: string) =>
  [...body.matchAll(/href="([^"]*\/login\/with\/[^"]*)"/g)].map(([, url = '']) =>
    url.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=')
  )

describe('local sign-in and two providers', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({
      SIGN_IN_PROVIDERS: JSON.stringify(PROVIDERS),
      SIGN_IN_HELP_URL: 'https://help.example/'
    })
    await server.createUser('alice', PASSWORD)
  })
  afterAll(() => server.close())

  test('the page shows the form first, then a link for each provider with the request of the app', async () => {
    const { clientId } = await server.createClient()
    const page = await server.newBrowser().open(authorizeUrl(clientId))
    const query = new URL(page.url).search
    expect(links(page.body)).toEqual([`${ISSUER}/login/with/first${query}`, `${ISSUER}/login/with/second${query}`])
    expect(page.body.indexOf('<form')).toBeLessThan(page.body.indexOf('/login/with/first'))
    expect(page.body).toContain('First &amp; Co')
    expect(page.body).toContain('href="https://help.example/"')
  })

  test('the way that this browser used last comes first', async () => {
    const browser = server.newBrowser()
    browser.cookies.set(COOKIES.lastWay, 'second')
    const page = await browser.open(`${ISSUER}/login`)
    expect(links(page.body)).toEqual([`${ISSUER}/login/with/second`, `${ISSUER}/login/with/first`])
    expect(page.body.indexOf('<form')).toBeGreaterThan(page.body.indexOf('/login/with/second'))
  })

  test('an unknown value of the cookie changes nothing', async () => {
    const browser = server.newBrowser()
    browser.cookies.set(COOKIES.lastWay, '"><script>')
    const page = await browser.open(`${ISSUER}/login`)
    expect(page.body.indexOf('<form')).toBeLessThan(page.body.indexOf('/login/with/first'))
    expect(page.body).not.toContain('<script>')
  })
})

describe('one provider and no local sign-in', () => {
  let server: TestServer
  beforeAll(async () => {
    const settings = { LOCAL_SIGN_IN: 'false', SIGN_IN_PROVIDERS: JSON.stringify(PROVIDERS.slice(0, 1)) }
    server = await startTestServer(settings)
  })
  afterAll(() => server.close())

  test('the page goes straight on to the provider, without a redirect, and has a link', async () => {
    const { clientId } = await server.createClient()
    const { search } = new URL(authorizeUrl(clientId))
    for (const query of ['', search, '?page=sign-ins']) {
      const browser = server.newBrowser()
      await browser.get(`${ISSUER}/login`)
      const response = await browser.get(`${ISSUER}/login${query}`)
      const start = `${ISSUER}/login/with/first${query}`
      expect([response.statusCode, response.headers.refresh]).toEqual([200, `0;url=${start}`])
      expect(links(response.body)).toEqual([start])
    }
  })

  test('after signing out, the page is shown, because the provider might sign the user in again', async () => {
    const response = await server.newBrowser().get(`${ISSUER}/login?done=signed_out`)
    expect([response.statusCode, response.headers.refresh]).toEqual([200, undefined])
    expect(response.body).not.toContain('name="password"')
    expect(links(response.body)).toEqual([`${ISSUER}/login/with/first`])
  })

  test('a password is not accepted', async () => {
    const browser = server.newBrowser()
    const page = await browser.open(`${ISSUER}/login?done=signed_out`)
    expect(page.body).not.toContain('<form')
  })
})
