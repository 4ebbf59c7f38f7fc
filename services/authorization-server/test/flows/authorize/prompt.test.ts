import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../support/audit-rows.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, exchange, introspect, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { openConsent } from '../../support/pages.js'

let server: TestServer
let client: Credentials
let username: string
let browser: Browser

beforeAll(async () => {
  server = await startTestServer()
})
beforeEach(async () => {
  // A user who is signed in, and a client with a remembered consent.
  username = `user-${Math.random()}`
  await server.createUser(username, PASSWORD)
  client = await server.createClient({ consent: 'remember' })
  const opened = await openConsent(server, client.clientId, { username })
  browser = opened.browser
  await browser.submitOnly(opened.page, { decision: 'allow' })
})
afterAll(() => server.close())

const request = (prompt: string, change = {}) => authorizeUrl(client.clientId, { prompt, ...change })
const pathOf = (page: Page) => new URL(page.url).pathname
const pendingRequests = async () => (await server.redis.keys('vk:requests:*')).length
const codeOf = (page: Page) => (page.headers.location === undefined ? undefined : responseParameters(page).code)
const signIn = (page: Page, from = browser) => from.submitOnly(page, { username, password: PASSWORD })

const auditedReasons = async (page: Page) =>
  (await auditRows(server))
    .filter((row) => row.event === 'authorization_refused' && row.request_id === page.headers['x-request-id'])
    .map(({ details }) => details.reason)

describe.each(['login', 'select_account'])('prompt=%s', (prompt) => {
  test('requires a sign-in although there is a session, and gives the code after it', async () => {
    const session = browser.cookies.get(COOKIES.session)
    const page = await browser.open(request(prompt))
    expect(pathOf(page)).toBe('/login')
    expect(visibleText(page.body)).not.toContain('interrupted')
    const refused = await browser.submit(page, { username, password: 'wrong' })
    expect([refused.statusCode, pathOf(refused)]).toEqual([422, '/login'])
    const redirect = await browser.submit(refused, { username, password: PASSWORD })
    expect(responseParameters(redirect)).toEqual({ code: expect.any(String), state: 'a state', iss: ISSUER })
    expect(browser.cookies.get(COOKIES.session)).not.toBe(session)
  })

  test('requires one sign-in for each request', async () => {
    const first = await browser.open(request(prompt, { state: 'first' }))
    const second = await browser.open(request(prompt, { state: 'second' }))
    expect(codeOf(await browser.submit(first, { username, password: PASSWORD }))).toBeDefined()
    expect(pathOf(await browser.open(request(prompt, { state: 'first' })))).toBe('/login')
    expect(pathOf(await browser.submit(second, { username, password: PASSWORD }))).toBe('/login')
  })

  test.each<{ name: string; open: (location: string) => Promise<Page> }>([
    {
      name: 'a second use',
      open: async (location) => {
        expect(codeOf(await browser.open(location))).toBeDefined()
        return browser.open(location)
      }
    },
    { name: 'another request', open: (location) => browser.open(location.replace('state=a+state', 'state=other')) },
    {
      name: 'another browser of the same user',
      open: async (location) => (await openConsent(server, client.clientId, { username })).browser.open(location)
    },
    {
      name: 'the same browser without the session',
      open: async (location) => {
        browser.cookies.delete(COOKIES.session)
        return browser.open(location)
      }
    }
  ])('does not accept the address after the sign-in for $name', async ({ open }) => {
    const signedIn = await signIn(await browser.open(request(prompt)))
    expect(pathOf(await open(String(signedIn.headers.location)))).toBe('/login')
  })

  test('gives the code to the user who signs in', async () => {
    const otherId = await server.createUser(`other-${username}`, PASSWORD)
    const page = await browser.open(request(`${prompt} consent`))
    const consent = await browser.submit(page, { username: `other-${username}`, password: PASSWORD })
    const code = codeOf(await browser.submitOnly(consent, { decision: 'allow' }))
    const { access_token } = (await exchange(server, client, code ?? '')).json()
    const token = await introspect(server, await server.createResourceServer(), access_token)
    expect(token.json()).toMatchObject({ sub: otherId })
  })
})

describe('prompt=consent', () => {
  test.each(['consent', 'login consent', 'consent unknown'])(
    '%s shows the page of a remembered consent',
    async (prompt) => {
      let page = await browser.open(request(prompt))
      if (pathOf(page) === '/login') page = await browser.submit(page, { username, password: PASSWORD })
      expect([page.statusCode, pathOf(page)]).toEqual([200, '/consent'])
      expect(codeOf(await browser.submitOnly(page, { decision: 'allow' }))).toBeDefined()
    }
  )

  test('Deny is access_denied, and the consent stays remembered', async () => {
    const page = await browser.open(request('consent'))
    expect(responseParameters(await browser.submitOnly(page, { decision: 'deny' })).error).toBe('access_denied')
    expect(codeOf(await browser.get(authorizeUrl(client.clientId)))).toBeDefined()
  })
})

describe('prompt=none', () => {
  test('gives a code for a session and a remembered consent, without a page', async () => {
    expect(responseParameters(await browser.get(request('none')))).toEqual({
      code: expect.any(String),
      state: 'a state',
      iss: ISSUER
    })
  })

  test.each<{ error: string; description: string; from: () => Browser; change?: Record<string, string> }>([
    { error: 'login_required', description: 'The user must sign in.', from: () => server.newBrowser() },
    {
      error: 'consent_required',
      description: 'The user must allow access.',
      from: () => browser,
      change: { scope: 'files.read files.read:images' }
    }
  ])('redirects with $error and stores nothing', async ({ error, description, from, change }) => {
    const before = await pendingRequests()
    const response = await from().get(request('none', change))
    expect(response.statusCode).toBe(303)
    expect(responseParameters(response)).toEqual({
      error,
      error_description: description,
      error_uri: `${ISSUER}/errors/${error}`,
      state: 'a state',
      iss: ISSUER
    })
    expect(await pendingRequests()).toBe(before)
    expect(await auditedReasons(response)).toEqual([error])
  })

  test('is consent_required for a public client, which never remembers', async () => {
    const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
    const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
    const response = await browser.get(authorizeUrl(clientId, { prompt: 'none', ...pkce }))
    expect(responseParameters(response)).toMatchObject({ error: 'consent_required' })
  })

  test.each(['none login', 'none consent', 'none unknown'])(
    'with another value is invalid_request: %s',
    async (prompt) => {
      const response = await browser.get(request(prompt))
      expect(responseParameters(response)).toMatchObject({ error: 'invalid_request', state: 'a state' })
    }
  )
})

test.each(['create', 'Login', 'NONE', ''])('prompt "%s" is unknown and ignored', async (prompt) => {
  expect(codeOf(await browser.get(request(prompt)))).toBeDefined()
})
