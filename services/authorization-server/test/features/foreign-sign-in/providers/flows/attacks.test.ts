import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { providerAddressLimit } from '../../../../../src/platform/rate-limits/rules.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../../../support/authorization-server.js'
import { clearCounters, counterOf, setCounter } from '../../../../support/counters.js'
import { authorizeUrl, PASSWORD } from '../../../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import { addressesOn } from '../../../../support/page-content.js'
import { signedInBrowser } from '../../../../support/pages.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith,
  usernames
} from '../../../../support/provider-sign-in.js'

describe('attack on the sign-in with a provider', () => {
  let honest: ForgingProvider
  let evil: ForgingProvider
  let server: TestServer
  let client: Credentials

  beforeAll(async () => {
    ;[honest, evil] = await Promise.all([startForgingProvider(), startForgingProvider()])
    const settings = [providerSetting(honest), providerSetting(evil, { id: 'evil', label: 'Evil' })]
    server = await startTestServer(providersSetting(...settings))
    client = await server.createClient()
    await server.createUser('alice', PASSWORD)
  })

  afterAll(async () => {
    await server?.close()
    await Promise.all([honest?.close(), evil?.close()])
  })

  test("login CSRF: the attacker's response in the victim's browser shows a page and signs no user in (RFC 9700 §4.7)", async () => {
    const [attacker, victim] = [server.newBrowser(), server.newBrowser()]
    const { state, nonce } = await depart(attacker)
    honest.signs({ claims: { nonce, sub: 'attacker' } })
    await depart(victim)
    honest.requests.length = 0
    const page = await victim.get(callbackUrl({ code: "the attacker's code", state }))
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('belongs to another browser')
    expect(honest.requests).toEqual([])
    expect(await signedInUser(victim)).toBeUndefined()
    // The victim's visit did not use the attempt up.
    expect((await attacker.get(callbackUrl({ code: 'c', state }))).statusCode).toBe(303)
  })

  test('login CSRF without any cookie shows the same page', async () => {
    const { state } = await depart(server.newBrowser())
    const page = await server.newBrowser().get(callbackUrl({ code: 'c', state }))
    expect([page.statusCode, page.body]).toEqual([403, expect.stringContaining('another browser')])
  })

  test("mix-up: the state of one provider at another's redirect URI sends a code to neither (RFC 9700 §4.4)", async () => {
    const browser = server.newBrowser()
    const { state } = await depart(browser, '', 'forger')
    honest.requests.length = 0
    evil.requests.length = 0
    const page = await browser.get(callbackUrl({ code: "the honest provider's code", state }, 'evil'))
    expect(page.statusCode).toBe(400)
    expect([...honest.requests, ...evil.requests].filter(({ path }) => path === '/token')).toEqual([])
    expect(await signedInUser(browser)).toBeUndefined()
  })

  test('mix-up: a response that names another issuer sends no code to the token endpoint (RFC 9207)', async () => {
    const browser = server.newBrowser()
    const { state } = await depart(browser, '', 'evil')
    evil.requests.length = 0
    const page = await browser.get(
      callbackUrl({ code: "the honest provider's code", state, iss: honest.issuer }, 'evil')
    )
    expect([page.statusCode, page.body]).toEqual([400, expect.stringContaining('not set up correctly')])
    expect(evil.requests.filter(({ path }) => path === '/token')).toEqual([])
  })

  test('mix-up: the same subject at two providers is two users', async () => {
    const [one, other] = [server.newBrowser(), server.newBrowser()]
    await signInWith(honest, one, { claims: { sub: 'same', preferred_username: 'same' } })
    const { state, nonce } = await depart(other, '', 'evil')
    evil.signs({ claims: { nonce, sub: 'same', preferred_username: 'same' } })
    await other.get(callbackUrl({ code: 'c', state }, 'evil'))
    expect([await signedInUser(one), await signedInUser(other)]).toEqual(['same', 'same-2'])
  })

  test('session fixation: an id from before sign-in, and the session of another user, end at sign-in', async () => {
    const browser = server.newBrowser()
    browser.cookies.set(COOKIES.session, 'A'.repeat(43))
    await signInWith(honest, browser, { claims: { sub: 'fixed' } })
    expect(browser.cookies.get(COOKIES.session)).not.toBe('A'.repeat(43))
    const first = await signedInBrowser(server, 'alice')
    const old = first.cookies.get(COOKIES.session) ?? ''
    // prompt=login asks a signed-in user again.
    const query = new URL(authorizeUrl(client.clientId, { prompt: 'login' })).search.slice(1)
    await signInWith(honest, first, { query, claims: { sub: 'fixed' } })
    const stolen = server.newBrowser()
    stolen.cookies.set(COOKIES.session, old)
    expect(await signedInUser(stolen)).toBeUndefined()
  })

  test('codes that the provider refuses are limited for each address: invented ones must not get us blocked there', async () => {
    honest.answers({ '/token': { status: 400, body: { error: 'invalid_grant' } } })
    await clearCounters(server)
    const limit = providerAddressLimit('127.0.0.1')
    const refused = await signInWith(honest, server.newBrowser())
    expect([refused.statusCode, await counterOf(server, limit)]).toEqual([400, 1])
    await setCounter(server, limit, 100)
    honest.requests.length = 0
    const limited = await signInWith(honest, server.newBrowser())
    expect([limited.statusCode, Number(limited.headers['retry-after'])]).toEqual([429, expect.any(Number)])
    expect(limited.body).toContain('Too many attempts')
    expect(honest.requests.filter(({ path }) => path === '/token')).toEqual([])
    honest.answers({})
    await clearCounters(server)
  })

  test.each([
    'redirect_uri=https://evil.example/',
    'return_to=https://evil.example/',
    'page=https://evil.example/',
    'page=//evil.example/',
    'next=https://evil.example&page=apps'
  ])(
    'open redirect: ?%s leads to no other site, at the start, on the callback and on its error page',
    async (query) => {
      const browser = server.newBrowser()
      const started = await browser.get(`${ISSUER}/login/with/forger?${query}`)
      const target = new URL(String(started.headers.location))
      expect(target.origin).toBe(honest.issuer)
      const [state, nonce] = ['state', 'nonce'].map((name) => target.searchParams.get(name) ?? '') as [string, string]
      honest.signs({ claims: { nonce } })
      const page = await browser.get(`${callbackUrl({ code: 'c', state })}&${query}`)
      expect(new URL(String(page.headers.location)).origin).toBe(ISSUER)
      const failed = await depart(server.newBrowser())
      const problem = await browser.get(`${callbackUrl({ error: 'access_denied', state: failed.state })}&${query}`)
      expect(addressesOn(problem.body).filter((address) => !address.startsWith(ISSUER))).toEqual([])
    }
  )

  test('open redirect: a start with an unknown client and its redirect URI stays on this site', async () => {
    const query = 'client_id=unknown&redirect_uri=https://evil.example/'
    const started = await server.newBrowser().get(`${ISSUER}/login/with/forger?${query}`)
    expect(new URL(String(started.headers.location)).origin).toBe(ISSUER)
  })

  test('pre-hijacking: an account with the same user name or e-mail address is never linked', async () => {
    const text = "update users set email = 'alice@example.com' where username = 'alice'"
    await server.database.query({ name: 'test_email', text, values: [] })
    const browser = server.newBrowser()
    const claims = {
      sub: 'victim',
      preferred_username: 'alice',
      email: 'alice@example.com',
      email_verified: true
    }
    await signInWith(honest, browser, { claims })
    expect(await signedInUser(browser)).toBe('alice-2')
    expect(await usernames(server)).toEqual(expect.arrayContaining(['alice', 'alice-2']))
    // The attacker's password still opens the attacker's account only.
    expect(await signedInUser(await signedInBrowser(server, 'alice'))).toBe('alice')
  })
})
