import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { firstForm } from '../../support/browser.js'
import { authorizeUrl, exchange, responseParameters } from '../../support/flow.js'
import { type LogoutBridge, startLogoutBridge } from '../../support/logout-bridge.js'
import { fromForm, signOut } from '../../support/pages.js'
import { providerSetting, providersSetting, signedInUser } from '../../support/provider-sign-in.js'
import { startUpstreamProvider, UPSTREAM, type UpstreamProvider } from '../../support/upstream-provider.mjs'
import { createUpstreamVisitor } from '../../support/upstream-visitor.js'

describe('sign-in with the package oidc-provider', () => {
  let upstream: UpstreamProvider
  let server: TestServer
  let client: Credentials
  let bridge: LogoutBridge

  beforeAll(async () => {
    jest.spyOn(console, 'warn').mockReturnValue()
    jest.spyOn(console, 'info').mockReturnValue()
    bridge = await startLogoutBridge('/login/with/upstream/logout', () => server)
    upstream = await startUpstreamProvider(ISSUER, bridge.url)
    const credentials = { client_id: UPSTREAM.clientId, client_secret: UPSTREAM.clientSecret }
    server = await startTestServer(providersSetting(providerSetting(upstream, { id: 'upstream', ...credentials })))
    client = await server.createClient()
  })

  afterAll(async () => {
    await server?.close()
    await upstream?.close()
    await bridge?.close()
    jest.restoreAllMocks()
  })

  /** From a page of Valetkey through the provider and back. */
  async function signIn(browser: Browser, visitor = createUpstreamVisitor(), query = ''): Promise<Page> {
    const start = await browser.get(`${ISSUER}/login/with/upstream${query === '' ? '' : `?${query}`}`)
    const back = await visitor.follow(String(start.headers.location))
    return browser.open(back.url)
  }

  test('goes from the app through provider and consent to tokens, and is found again', async () => {
    upstream.is('zoe', { name: 'Zoe Example', preferred_username: 'zoe' })
    const browser = server.newBrowser()
    const chooser = await browser.open(authorizeUrl(client.clientId))
    expect(chooser.body).toContain('Continue with <bdi>Example Corp</bdi>')
    const query = new URL(chooser.url).search.slice(1)
    const consent = await signIn(browser, undefined, query)
    expect(consent.body).toContain('<bdi>zoe</bdi>')
    const allowed = await browser.submitOnly(consent, { decision: 'allow' })
    const { code = '' } = responseParameters(allowed)
    expect((await exchange(server, client, code)).statusCode).toBe(200)
    const second = server.newBrowser()
    await signIn(second)
    expect(await signedInUser(second)).toBe('zoe')
  })

  test('Use another account keeps the request, and tells the provider to ask again', async () => {
    upstream.is('tara', { preferred_username: 'tara' })
    const browser = server.newBrowser()
    const query = new URL(authorizeUrl(client.clientId, { state: 'kept' })).search.slice(1)
    const consent = await signIn(browser, undefined, query)
    expect(consent.body).toContain('<bdi>tara</bdi>')
    const chooser = await browser.submit(fromForm(consent, '/logout'), {})
    const start = await browser.get(`${ISSUER}/login/with/upstream${new URL(chooser.url).search}`)
    expect(new URL(String(start.headers.location)).searchParams.get('prompt')).toBe('login')
    upstream.is('uma', { preferred_username: 'uma' })
    const back = await createUpstreamVisitor().follow(String(start.headers.location))
    const second = await browser.open(back.url)
    expect(second.body).toContain('<bdi>uma</bdi>')
    const allowed = responseParameters(await browser.submitOnly(second, { decision: 'allow' }))
    expect(allowed).toMatchObject({ state: 'kept', code: expect.stringMatching(/^vk_ac_/) })
  })

  test('confirms before a change of the account: the provider asks again and says when', async () => {
    upstream.is('yan', { preferred_username: 'yan' })
    const [browser, visitor] = [server.newBrowser(), createUpstreamVisitor()]
    await signIn(browser, visitor)
    // Without max_age, this provider sends no auth_time, so the session is not fresh.
    const page = await browser.get(`${ISSUER}/login/with/upstream?page=password`)
    const url = new URL(String(page.headers.location))
    expect([url.searchParams.get('prompt'), url.searchParams.get('max_age')]).toEqual(['login', '0'])
    const back = await visitor.follow(url.href)
    expect((await browser.get(back.url)).headers.location).toBe(`${ISSUER}/account/password`)
  })

  test('ends our session when the user signs out at the provider (Back-Channel Logout 1.0)', async () => {
    upstream.is('xena', { preferred_username: 'xena' })
    const [browser, visitor] = [server.newBrowser(), createUpstreamVisitor()]
    await signIn(browser, visitor)
    const other = server.newBrowser()
    await signIn(other)
    const page = await visitor.follow(`${upstream.issuer}/session/end`)
    const { action, fields } = firstForm(page.body.replace(/<input[^>]*>/g, (tag) => tag.replace('/>', '>')))
    bridge.statuses.length = 0
    await visitor.follow(action, { method: 'POST', body: new URLSearchParams({ ...fields, logout: 'yes' }) })
    expect(bridge.statuses).toEqual([200])
    expect([await signedInUser(browser), await signedInUser(other)]).toEqual([undefined, 'xena'])
  })

  test('signs out here and at the provider, and comes back to the sign-in page (RP-Initiated Logout 1.0)', async () => {
    upstream.is('will', { preferred_username: 'will' })
    const [browser, visitor] = [server.newBrowser(), createUpstreamVisitor()]
    await signIn(browser, visitor)
    const account = await browser.open(`${ISSUER}/account/apps`)
    expect(account.body).toContain('Sign out here and at <bdi>Example Corp</bdi>')
    expect(account.headers['content-security-policy']).toContain("form-action 'self' http://127.0.0.1:*")
    const left = await signOut(browser, { at_provider: 'on' })
    const url = new URL(String(left.headers.location))
    expect(url.origin + url.pathname).toBe(`${upstream.issuer}/session/end`)
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${ISSUER}/login?done=signed_out`)
    expect(url.searchParams.get('id_token_hint')).toMatch(/^eyJ/)
    expect(await signedInUser(browser)).toBeUndefined()
    const page = await visitor.follow(url.href)
    const { action, fields } = firstForm(page.body.replace(/<input[^>]*>/g, (tag) => tag.replace('/>', '>')))
    const body = new URLSearchParams({ ...fields, logout: 'yes' })
    const back = await visitor.follow(action, { method: 'POST', body })
    expect(back.url).toBe(`${ISSUER}/login?done=signed_out`)
    expect((await browser.open(back.url)).body).toContain('You are signed out')
  })

  test('signs out here only by default, and stores the ID token only encrypted', async () => {
    upstream.is('vera', { preferred_username: 'vera' })
    const browser = server.newBrowser()
    await signIn(browser)
    const keys = await server.redis.keys('vk:session:*')
    const records = await Promise.all(keys.map((key) => server.redis.get(key)))
    expect(records.join('\n')).toContain('encryptedIdToken')
    // A JWS. Encrypted text has no dot, and may have these letters.
    expect(records.join('\n')).not.toMatch(/eyJ[\w-]+\.eyJ/)
    expect((await signOut(browser)).url).toBe(`${ISSUER}/login?done=signed_out`)
  })
})
