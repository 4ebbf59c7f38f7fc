import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../../support/authorization-server.js'
import { S256 } from '../../../support/authorize-cases.js'
import type { Browser, Page } from '../../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, post, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'
import { PUSHED_PATH, pushed, pushedAddress, pushedUrl, REQUEST_URN, requestOf } from '../support/pushed-requests.js'

const SIGN_IN = { username: 'alice', password: PASSWORD }
const ALLOW = { decision: 'allow' }

let server: TestServer
let client: Credentials
let other: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createUser('bob', PASSWORD)
  client = await server.createClient()
  other = await server.createClient()
})
afterAll(() => server.close())

const pathOf = (page: Pick<Page, 'url'>) => new URL(page.url).pathname
const isConsent = (page: Page) => page.statusCode === 200 && pathOf(page) === '/consent'

/** The error page, from which no redirect leads to the client. */
function expectOver(page: Page): void {
  expect([page.statusCode, page.headers.location]).toEqual([400, undefined])
  expect(visibleText(page.body)).toContain('This request is over')
  expect(page.body).toContain('/errors/invalid_request_uri')
}

/** Allows on the consent page and redeems the code. */
async function expectToFinish(browser: Browser, page: Page, state = 'pushed state'): Promise<void> {
  expect(isConsent(page)).toBe(true)
  const response = responseParameters(await browser.submitOnly(page, ALLOW))
  expect(response).toMatchObject({ state, iss: ISSUER })
  expect((await exchange(server, client, response.code ?? '')).statusCode).toBe(200)
}

/** The time in which browsers may open the requests that were pushed is over. */
async function closeAll(): Promise<void> {
  for (const key of await server.redis.keys('vk:par:*')) {
    const wasOpened = (await server.redis.hlen(key)) > 1
    if (wasOpened) await server.redis.pexpire(key, 3_600_000)
    else await server.redis.del(key)
  }
}

describe('a pushed request leads to a token', () => {
  test('of a confidential client, after sign-in; its parameters are in no address', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(await pushedAddress(server, client))
    expect(pathOf(login)).toBe('/login')
    expect(visibleText(login.body)).toContain('to continue to Photo Printer')
    const consent = await browser.submit(login, SIGN_IN)
    for (const { url } of [login, consent]) {
      const names = [...new URL(url).searchParams.keys()].filter((name) => name !== 'resume')
      expect(names).toEqual(['client_id', 'request_uri'])
    }
    await expectToFinish(browser, consent)
  })

  test('of a public client', async () => {
    const app = await server.createClient({ type: 'public', requiresPkce: true })
    const answer = await post(server, PUSHED_PATH, requestOf(app, S256))
    const browser = await signedInBrowser(server)
    const page = await browser.open(pushedUrl(app, answer.json().request_uri))
    expect(responseParameters(await browser.submitOnly(page, ALLOW))).toHaveProperty('code')
  })

  test('with the challenge that was pushed', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(await pushedAddress(server, client, S256))
    const { code = '' } = responseParameters(await browser.submitOnly(page, ALLOW))
    expect((await exchange(server, client, code)).json().error).toBe('invalid_grant')
  })

  test('in the language of the pushed ui_locales', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(await pushedAddress(server, client, { ui_locales: 'de' }))
    expect(login.body).toContain('lang="de"')
  })

  test('without a page for prompt=none: the error goes to the client, and the request is not used', async () => {
    const address = await pushedAddress(server, client, { prompt: 'none' })
    for (const _attempt of [1, 2]) {
      const page = await server.newBrowser().open(address)
      expect(responseParameters(page)).toMatchObject({ error: 'login_required', state: 'pushed state' })
    }
  })

  test('with prompt=login, after a new sign-in', async () => {
    const browser = await signedInBrowser(server)
    const login = await browser.open(await pushedAddress(server, client, { prompt: 'login' }))
    expect(pathOf(login)).toBe('/login')
    await expectToFinish(browser, await browser.submit(login, SIGN_IN))
  })

  test('of another user, who chooses another account on the consent page', async () => {
    const browser = await signedInBrowser(server)
    const consent = await browser.open(await pushedAddress(server, client))
    const login = await browser.submit(fromForm(consent, '/logout'), {})
    expect(pathOf(login)).toBe('/login')
    const again = await browser.submit(login, { username: 'bob', password: PASSWORD })
    expect(visibleText(again.body)).toContain('bob')
    await expectToFinish(browser, again)
  })

  test('only after a new sign-in, if the user wants another account and signs in again meanwhile', async () => {
    const browser = await signedInBrowser(server)
    const address = await pushedAddress(server, client)
    expect(pathOf(await browser.open(`${address}&new_sign_in=1`))).toBe('/login')
    expect(isConsent(await browser.open(address))).toBe(true)
  })
})

describe('a pushed request is not used by', () => {
  test('a reload of the sign-in page or of the consent page', async () => {
    const browser = server.newBrowser()
    const address = await pushedAddress(server, client)
    const login = await browser.open(address)
    expect(pathOf(await browser.open(login.url))).toBe('/login')
    expect(pathOf(await browser.open(address))).toBe('/login')
    const consent = await browser.submit(login, SIGN_IN)
    expect(isConsent(await browser.open(consent.url))).toBe(true)
    await expectToFinish(browser, await browser.open(address))
  })

  test('a wrong password', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(await pushedAddress(server, client))
    const refused = await browser.submit(login, { ...SIGN_IN, password: 'wrong' })
    expect(refused.statusCode).toBe(422)
    await expectToFinish(browser, await browser.submit(refused, SIGN_IN))
  })

  test('the way back to the sign-in page after sign-in', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(await pushedAddress(server, client))
    await browser.submit(login, SIGN_IN)
    await expectToFinish(browser, await browser.open(login.url))
  })

  test('a visit of another browser, such as a program that looks at links', async () => {
    const address = await pushedAddress(server, client)
    await server.newBrowser().open(address)
    const browser = await signedInBrowser(server)
    await expectToFinish(browser, await browser.open(address))
  })
})

describe('time', () => {
  test('a request that no browser opened within 90 seconds has expired', async () => {
    const address = await pushedAddress(server, client)
    await closeAll()
    expectOver(await (await signedInBrowser(server)).open(address))
  })

  test('a browser that opened it in time can take longer; another browser cannot open it then', async () => {
    const address = await pushedAddress(server, client)
    const browser = server.newBrowser()
    const login = await browser.open(address)
    await closeAll()
    expectOver(await (await signedInBrowser(server)).open(address))
    await expectToFinish(browser, await browser.submit(login, SIGN_IN))
  })
})

describe('a decision uses the request', () => {
  test.each([
    { decision: 'allow', expected: { code: expect.any(String) } },
    { decision: 'deny', expected: { error: 'access_denied', state: 'pushed state' } }
  ])('$decision: afterwards neither address, page nor form works', async ({ decision, expected }) => {
    const browser = await signedInBrowser(server)
    const address = await pushedAddress(server, client)
    const consent = await browser.open(address)
    expect(responseParameters(await browser.submitOnly(consent, { decision }))).toMatchObject(expected)
    expectOver(await browser.open(address))
    // The button back.
    expectOver(await browser.open(consent.url))
    expectOver(await browser.open(consent.url.replace('/consent', '/login')))
    expectOver(await (await signedInBrowser(server)).open(address))
    expectOver(await server.newBrowser().open(address))
  })

  test('a second Allow with the same form gets the same redirect', async () => {
    const browser = await signedInBrowser(server)
    const consent = await browser.open(await pushedAddress(server, client))
    const answers = await Promise.all([browser.submitOnly(consent, ALLOW), browser.submitOnly(consent, ALLOW)])
    const [one, two] = answers.map(responseParameters)
    expect(one).toHaveProperty('code')
    expect(two).toEqual(one)
    expect(responseParameters(await browser.submitOnly(consent, ALLOW))).toEqual(one)
  })

  test('a second Deny with the same form gets the same redirect', async () => {
    const browser = await signedInBrowser(server)
    const consent = await browser.open(await pushedAddress(server, client))
    const [one, two] = [
      await browser.submitOnly(consent, { decision: 'deny' }),
      await browser.submitOnly(consent, { decision: 'deny' })
    ].map(responseParameters)
    expect(one).toMatchObject({ error: 'access_denied', state: 'pushed state' })
    expect(two).toEqual(one)
  })

  test('Allow after Deny with the same form: no code', async () => {
    const browser = await signedInBrowser(server)
    const consent = await browser.open(await pushedAddress(server, client))
    await browser.submitOnly(consent, { decision: 'deny' })
    expectOver(await browser.submit(consent, ALLOW))
  })

  test.each(['allow', 'deny'])('%s in one of two tabs: the other tab cannot decide', async (decision) => {
    const browser = await signedInBrowser(server)
    const address = await pushedAddress(server, client)
    const [one, two] = [await browser.open(address), await browser.open(address)]
    await browser.submitOnly(one, { decision })
    expectOver(await browser.submit(two, ALLOW))
  })

  test('of two browsers that decide at once, one gets a code, and the other one the page', async () => {
    for (let round = 0; round < 5; round++) {
      const address = await pushedAddress(server, client)
      const browsers = [await signedInBrowser(server), await signedInBrowser(server, 'bob')]
      const pages = await Promise.all(browsers.map((browser) => browser.open(address)))
      const answers = await Promise.all(browsers.map((browser, index) => browser.submit(pages[index] as Page, ALLOW)))
      const codes = answers.filter(({ headers }) => headers.location?.startsWith(`${REDIRECT_URI}?code=`))
      expect(codes).toHaveLength(1)
      for (const answer of answers) if (!codes.includes(answer)) expectOver(answer)
    }
  })
})

describe('a remembered consent', () => {
  let remembering: Credentials
  let browser: Browser

  beforeAll(async () => {
    remembering = await server.createClient({ consent: 'remember' })
    browser = await signedInBrowser(server)
    await browser.submitOnly(await browser.open(authorizeUrl(remembering.clientId)), ALLOW)
  })

  test('uses the request without a page', async () => {
    const address = await pushedAddress(server, remembering)
    const first = await browser.open(address)
    expect(responseParameters(first)).toMatchObject({ code: expect.any(String), state: 'pushed state' })
    expectOver(await browser.open(address))
  })

  test('in two browsers at once: one gets a code', async () => {
    const another = await signedInBrowser(server)
    for (let round = 0; round < 5; round++) {
      const address = await pushedAddress(server, remembering)
      const answers = await Promise.all([browser, another].map((each) => each.open(address)))
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 400])
    }
  })
})

describe('the address', () => {
  test.each<{ name: string; change: (requestUri: string) => string }>([
    { name: 'an unknown token', change: () => `${REQUEST_URN}vk_ru_${'A'.repeat(49)}` },
    { name: 'a token with a wrong checksum', change: (uri) => `${uri.slice(0, -1)}${uri.endsWith('a') ? 'b' : 'a'}` },
    { name: 'no token', change: () => REQUEST_URN },
    { name: 'the URN in upper case', change: (uri) => uri.replace(REQUEST_URN, REQUEST_URN.toUpperCase()) },
    {
      name: 'the token in upper case',
      change: (uri) => uri.toUpperCase().replace(REQUEST_URN.toUpperCase(), REQUEST_URN)
    },
    { name: 'a space at the end', change: (uri) => `${uri} ` }
  ])('with $name in request_uri: the error page', async ({ change }) => {
    const requestUri = await pushed(server, client)
    const url = pushedUrl(client, change(requestUri), `&redirect_uri=${encodeURIComponent(REDIRECT_URI)}`)
    expectOver(await (await signedInBrowser(server)).open(url))
    const browser = await signedInBrowser(server)
    await expectToFinish(browser, await browser.open(pushedUrl(client, requestUri)))
  })

  test('with request_uri twice: the error page', async () => {
    const requestUri = await pushed(server, client)
    const twice = pushedUrl(client, requestUri, `&request_uri=${encodeURIComponent(requestUri)}`)
    expectOver(await (await signedInBrowser(server)).open(twice))
  })

  test('with another client than the one that pushed: the error page', async () => {
    expectOver(await (await signedInBrowser(server)).open(pushedUrl(other, await pushed(server, client))))
  })

  test('without client_id: the error page', async () => {
    const requestUri = await pushed(server, client)
    const browser = await signedInBrowser(server)
    const page = await browser.open(`${ISSUER}/oauth/authorize?${new URLSearchParams({ request_uri: requestUri })}`)
    expect([page.statusCode, page.headers.location]).toEqual([400, undefined])
  })

  test('with other parameters beside request_uri: they are ignored (RFC 9101 §5)', async () => {
    const browser = await signedInBrowser(server)
    const beside = new URLSearchParams({
      redirect_uri: 'https://evil.example/',
      scope: 'unknown',
      state: 'another',
      response_type: 'token',
      prompt: 'login',
      request: 'eyJ.e30.',
      code_challenge: 'short'
    })
    const page = await browser.open(`${await pushedAddress(server, client)}&${beside}`)
    await expectToFinish(browser, page)
  })

  test('with another request_uri and a valid redirect URI: the error goes to the client', async () => {
    const url = authorizeUrl(client.clientId, { request_uri: 'https://app.example/request.jwt' })
    const page = await (await signedInBrowser(server)).open(url)
    expect(responseParameters(page)).toMatchObject({ error: 'request_uri_not_supported', state: 'a state' })
  })

  test('with another request_uri and no redirect URI: a page', async () => {
    const page = await (await signedInBrowser(server)).open(pushedUrl(client, 'https://app.example/request.jwt'))
    expect([page.statusCode, page.headers.location]).toEqual([400, undefined])
  })

  test('with a signed request: the error goes to the client', async () => {
    const page = await (await signedInBrowser(server)).open(authorizeUrl(client.clientId, { request: 'eyJ.e30.' }))
    expect(responseParameters(page)).toMatchObject({ error: 'request_not_supported', state: 'a state' })
  })
})

describe('the request is judged again', () => {
  const change = (clientId: string, text: string, values: unknown[] = []) =>
    server.database.query({
      name: '',
      text: `update clients set ${text} where client_id = $1`,
      values: [clientId, ...values]
    })

  test('a redirect URI that was removed meanwhile: an error page, and no redirect', async () => {
    const changed = await server.createClient()
    const address = await pushedAddress(server, changed)
    await change(changed.clientId, `redirect_uris = '{https://new.example/}'`)
    const browser = await signedInBrowser(server)
    let page = await browser.open(address)
    while (isConsent(page)) page = await browser.open(address)
    expect([page.statusCode, page.headers.location]).toEqual([400, undefined])
    expect(page.body).toContain('/errors/redirect_uri_mismatch')
  })

  test('a client that was disabled meanwhile: an error page', async () => {
    const changed = await server.createClient()
    const address = await pushedAddress(server, changed)
    await change(changed.clientId, 'disabled_at = now()')
    const browser = await signedInBrowser(server)
    let page = await browser.open(address)
    while (isConsent(page) || page.statusCode === 303) page = await browser.open(address)
    expect(page.body).toContain('/errors/unknown_client')
  })
})

test('a form of the sign-in page without a cookie explains the missing cookie', async () => {
  const browser = server.newBrowser()
  const page = await browser.open(await pushedAddress(server, client))
  browser.cookies.clear()
  const again = await browser.submit(page, SIGN_IN)
  expect(again.statusCode).toBe(422)
  await expectToFinish(browser, await browser.submit(again, SIGN_IN))
})
