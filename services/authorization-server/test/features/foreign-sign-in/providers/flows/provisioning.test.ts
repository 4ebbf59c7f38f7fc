import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { generateKeyPair, SignJWT } from 'jose'
import { createIdentityStore } from '../../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { NOTE } from '../../../../support/audit-note.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { type Browser, firstForm, type Page } from '../../../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../../../support/flow.js'
import {
  FORGER,
  type ForgedAnswer,
  type ForgingProvider,
  startForgingProvider
} from '../../../../support/forging-provider.js'
import { collectLog } from '../../../../support/log-lines.js'
import { type LogoutBridge, startLogoutBridge } from '../../../../support/logout-bridge.js'
import { fromForm, signOut } from '../../../../support/pages.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith,
  usernames
} from '../../../../support/provider-sign-in.js'
import { sessionHashOf } from '../../../../support/sessions.js'
import { startUpstreamProvider, UPSTREAM, type UpstreamProvider } from '../../../../support/upstream-provider.mjs'
import { createUpstreamVisitor } from '../../../../support/upstream-visitor.js'

describe('user of a provider', () => {
  let provider: ForgingProvider
  let denying: ForgingProvider
  let server: TestServer
  const log = collectLog()

  beforeAll(async () => {
    ;[provider, denying] = await Promise.all([startForgingProvider(), startForgingProvider()])
    const gate = { require: { groups: ['staff'] } }
    const settings = [
      providerSetting(provider, { session_hours: 1 }),
      providerSetting(denying, { id: 'deny', provisioning: 'deny', ...gate })
    ]
    server = await startTestServer(providersSetting(...settings), log.logger)
  })

  afterEach(() => {
    provider.tells({ name: 'Alice Example' })
    for (const each of [provider, denying]) each.answers({})
    log.lines.length = 0
  })

  afterAll(async () => {
    await server?.close()
    await Promise.all([provider?.close(), denying?.close()])
  })

  async function nameOf(username: string): Promise<string | null | undefined> {
    const text = 'select display_name from users where username = $1'
    const values = [username]
    const rows = await server.database.query<{ display_name: string | null }>({ name: 'test_name', text, values })
    return rows[0]?.display_name
  }

  async function signInAtDenying(browser: ReturnType<TestServer['newBrowser']>, claims: Record<string, unknown>) {
    const { state, nonce } = await depart(browser, '', 'deny')
    denying.signs({ claims: { nonce, ...claims } })
    return browser.get(callbackUrl({ code: 'c', state }, 'deny'))
  }

  test('is created at the first sign-in, with an audit entry, and found again at the second', async () => {
    const claims = { sub: 'carol', preferred_username: 'carol' }
    const [first, second] = [server.newBrowser(), server.newBrowser()]
    await signInWith(provider, first, { claims })
    await signInWith(provider, second, { claims })
    expect([await signedInUser(first), await signedInUser(second)]).toEqual(['carol', 'carol'])
    expect((await usernames(server)).filter((name) => name.startsWith('carol'))).toEqual(['carol'])
    const created = log.lines.filter(({ event }) => event === 'user_created')
    expect(created).toEqual([
      expect.objectContaining({ username: 'carol', actor: { kind: 'provider', name: 'forger' } })
    ])
  })

  test('keeps the user name and gets the present display name at each sign-in', async () => {
    const claims = { sub: 'dave', preferred_username: 'dave' }
    provider.tells({ name: 'Dave \u202eExample' })
    await signInWith(provider, server.newBrowser(), { claims })
    expect(await nameOf('dave')).toBe('Dave Example')
    provider.tells({ name: 'Dave Renamed' })
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { ...claims, preferred_username: 'root' } })
    expect([await signedInUser(browser), await nameOf('dave')]).toEqual(['dave', 'Dave Renamed'])
  })

  test('is created once when several first sign-ins finish at the same time', async () => {
    const claims = { sub: 'erin', preferred_username: 'erin' }
    const browsers = Array.from({ length: 4 }, () => server.newBrowser())
    const departures = await Promise.all(browsers.map((browser) => depart(browser)))
    provider.signs({ claims })
    const pages = await Promise.all(
      departures.map(({ state, nonce }, index) => browsers[index]?.get(callbackUrl({ code: nonce, state })))
    )
    expect(pages.map((page) => page?.statusCode)).toEqual([303, 303, 303, 303])
    expect((await usernames(server)).filter((name) => name.startsWith('erin'))).toEqual(['erin'])
  })

  test.each([
    { name: 'in another case', existing: 'heidi', given: 'Heidi', expected: 'Heidi-2' },
    { name: 'in Cyrillic letters', existing: 'pace', given: 'расе', expected: 'расе-2' },
    { name: 'in Lisu letters', existing: 'lisa', given: 'ꓡꓲꓢꓮ', expected: 'ꓡꓲꓢꓮ-2' },
    { name: 'with one Cyrillic letter', existing: 'mona', given: 'mоna', expected: /^user-[0-9a-f]{8}$/ }
  ])('gets another name if its own is that of a user $name (UTS #39 §4)', async ({ existing, given, expected }) => {
    await server.createUser(existing, PASSWORD)
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { sub: given, preferred_username: given } })
    expect(await signedInUser(browser)).toMatch(expected)
  })

  test.each([
    { name: 'missing', claims: {}, count: 1 },
    { name: 'there', claims: { name: 'F', preferred_username: 'f' }, count: 0 }
  ])('causes $count UserInfo requests if the claims are $name in the ID token', async ({ claims, count }) => {
    provider.requests.length = 0
    await signInWith(provider, server.newBrowser(), { claims: { sub: 'frank', ...claims } })
    expect(provider.requests.filter(({ path }) => path === '/userinfo')).toHaveLength(count)
  })

  test('is refused if UserInfo is about another subject (OpenID Connect Core §5.3.2)', async () => {
    provider.tells({ sub: 'another person', name: 'Mallory' })
    const page = await signInWith(provider, server.newBrowser(), { claims: { sub: 'grace' } })
    expect(page.statusCode).toBe(500)
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'provider_failed', reason: 'wrong_subject' }))
  })

  const challenge = 'Bearer error="invalid_token", error_description="The audience is another API"'
  const refusals: { name: string; answer: ForgedAnswer; reason: string; detail?: string }[] = [
    {
      name: '401 with a challenge',
      answer: { status: 401, headers: { 'www-authenticate': challenge } },
      reason: 'user_info_refused',
      detail: 'The audience is another API'
    },
    { name: '403', answer: { status: 403 }, reason: 'http_4xx' },
    { name: '404', answer: { status: 404 }, reason: 'http_4xx' },
    { name: '429', answer: { status: 429 }, reason: 'http_5xx' },
    { name: '503', answer: { status: 503 }, reason: 'http_5xx' },
    {
      name: 'text',
      answer: { headers: { 'content-type': 'application/jwt' }, body: 'no' },
      reason: 'unexpected_response'
    },
    { name: 'no sub', answer: { body: { name: 'Nobody' } }, reason: 'unexpected_response' },
    { name: 'no response', answer: { hangs: true }, reason: 'timeout' },
    { name: 'megabytes', answer: { body: { x: 'x'.repeat(2 * 1024 * 1024) } }, reason: 'response_too_large' }
  ]

  test.each(refusals)(
    'signs in and keeps the name if UserInfo responds with $name, and the log has the reason $reason',
    async ({ answer, reason, detail = '' }) => {
      const claims = { sub: 'nils', preferred_username: 'nils' }
      provider.tells({ name: 'Nils' })
      await signInWith(provider, server.newBrowser(), { claims })
      provider.answers({ '/userinfo': answer })
      const browser = server.newBrowser()
      expect((await signInWith(provider, browser, { claims })).statusCode).toBe(303)
      expect([await signedInUser(browser), await nameOf('nils')]).toEqual(['nils', 'Nils'])
      const line = { event: 'user_info_unread', level: 'warn', provider: 'forger', reason }
      expect(log.lines).toContainEqual(expect.objectContaining({ ...line, detail: expect.stringContaining(detail) }))
      expect(log.lines.filter(({ event }) => event === 'provider_failed')).toEqual([])
    }
  )

  const jwt = { 'content-type': 'application/jwt' }
  const signedUserInfo = async (claims: Record<string, unknown>, key = provider.privateKey) => {
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'first' })
    provider.answers({ '/userinfo': { headers: jwt, body: await token.sign(key) } })
  }

  test('gets the name of signed UserInfo (OpenID Connect Core §5.3.2)', async () => {
    await signedUserInfo({
      sub: 'pia',
      name: 'Pia',
      preferred_username: 'pia',
      iss: provider.issuer,
      aud: FORGER.clientId
    })
    expect((await signInWith(provider, server.newBrowser(), { claims: { sub: 'pia' } })).statusCode).toBe(303)
    expect(await nameOf('pia')).toBe('Pia')
  })

  test('gets no name of UserInfo that another key signed', async () => {
    const { privateKey } = await generateKeyPair('RS256')
    await signedUserInfo({ sub: 'quin', name: 'Mallory' }, privateKey)
    const claims = { sub: 'quin', preferred_username: 'quin' }
    expect((await signInWith(provider, server.newBrowser(), { claims })).statusCode).toBe(303)
    expect(await nameOf('quin')).toBeNull()
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'user_info_unread', reason: 'bad_signature' }))
  })

  test('is created without a name of its own if UserInfo refuses', async () => {
    provider.answers({ '/userinfo': { status: 401, headers: { 'www-authenticate': challenge } } })
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { sub: 'olga' } })
    expect(await signedInUser(browser)).toMatch(/^user-/)
  })

  test('is refused if UserInfo refuses and has a claim of the gate, with the reason of UserInfo', async () => {
    denying.answers({ '/userinfo': { status: 401, headers: { 'www-authenticate': challenge } } })
    const page = await signInAtDenying(server.newBrowser(), { sub: 'ivy', name: 'Ivy' })
    expect(page.statusCode).toBe(500)
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'provider_failed', reason: 'user_info_refused' }))
  })

  test('without a linked identity is refused by provisioning deny, and no user is created', async () => {
    const before = await usernames(server)
    const browser = server.newBrowser()
    const page = await signInAtDenying(browser, { sub: 'henry', groups: ['staff'], name: 'Henry' })
    expect([page.statusCode, page.body]).toEqual([403, expect.stringContaining('No account here')])
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason: 'not_linked' }))
    expect([await usernames(server), await signedInUser(browser)]).toEqual([before, undefined])
  })

  test('with a linked identity signs in, but not without the claim, and not while disabled', async () => {
    const userId = await server.createUser(`linked-${randomUUID()}`, PASSWORD)
    const identity = { issuer: denying.issuer, subject: 'ivy' }
    await createIdentityStore(server.database).link(userId, identity, NOTE)
    const claims = { sub: 'ivy', name: 'Ivy', groups: ['staff'] }
    const browser = server.newBrowser()
    expect((await signInAtDenying(browser, claims)).statusCode).toBe(303)
    expect(await signedInUser(browser)).toMatch(/^linked-/)
    const left = await signInAtDenying(server.newBrowser(), { ...claims, groups: ['guests'] })
    expect([left.statusCode, left.body]).toEqual([403, expect.stringContaining('cannot be used here')])
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason: 'claim_refused' }))
    const text = 'update users set disabled_at = now() where user_id = $1'
    await server.database.query({ name: 'test_disable', text, values: [userId] })
    const disabled = await signInAtDenying(server.newBrowser(), claims)
    expect([disabled.statusCode, disabled.body]).toEqual([403, expect.stringContaining('No account here')])
  })

  test('with too many Entra groups is refused with that reason', async () => {
    const claims = { sub: 'jack', name: 'Jack', _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }
    const page = await signInAtDenying(server.newBrowser(), claims)
    expect(page.statusCode).toBe(403)
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason: 'groups_overage' }))
  })

  test('has a session that ends after session_hours', async () => {
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { sub: 'kate', preferred_username: 'kate' } })
    const [user] = await server.database.query<{ user_id: string }>({
      name: 'test_user_id',
      text: "select user_id from users where username = 'kate'",
      values: []
    })
    const rows = await server.database.query({
      name: 'test_session_of',
      text: 'select extract(epoch from ends_at - signed_in_at)::integer as seconds, way from sessions where user_id = $1',
      values: [user?.user_id]
    })
    expect(rows).toHaveLength(1)
    expect(rows[0]?.seconds).toBe(3_600)
    expect(rows[0]?.way).toMatchObject({ kind: 'provider', id: 'forger', issuer: provider.issuer, subject: 'kate' })
  })
})

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

  /** Leads from a page of Valetkey through the provider and back. */
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
    const text = 'select s::text as row, encrypted_id_token from sessions s where session_hash = $1'
    const values = [Buffer.from(sessionHashOf(browser), 'base64url')]
    const [stored] = await server.database.query({ name: 'test_session', text, values })
    expect(stored?.encrypted_id_token.length).toBeGreaterThan(100)
    // A JWS. Encrypted text has no dot, and may have these letters.
    expect(`${stored?.row}${stored?.encrypted_id_token}`).not.toMatch(/eyJ[\w-]+\.eyJ/)
    expect((await signOut(browser)).url).toBe(`${ISSUER}/login?done=signed_out`)
  })
})
