import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import type { Browser } from '../../../../support/browser.js'
import { type ForgedToken, type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import { collectLog } from '../../../../support/log-lines.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith
} from '../../../../support/provider-sign-in.js'

describe('POST /login/with/<id>/logout (Back-Channel Logout 1.0)', () => {
  let provider: ForgingProvider
  let server: TestServer
  const log = collectLog()

  beforeAll(async () => {
    provider = await startForgingProvider()
    server = await startTestServer(providersSetting(providerSetting(provider)), log.logger)
  })

  afterEach(() => {
    log.lines.length = 0
    provider.answers({})
  })

  afterAll(async () => {
    await server?.close()
    await provider?.close()
  })

  const now = () => Math.floor(Date.now() / 1000)

  async function send(token: string, more = ''): Promise<LightMyRequestResponse> {
    return server.publicServer.inject({
      method: 'POST',
      url: '/login/with/forger/logout',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `${new URLSearchParams({ logout_token: token })}${more}`
    })
  }

  const logout = async (claims: Record<string, unknown>, token: ForgedToken = {}) =>
    send(await provider.logoutToken({ ...token, claims: { ...claims, ...token.claims } }))

  /** Signs in with an ID token from some seconds ago, so that a logout of the same second is later. */
  async function signIn(sub: string, sid?: string): Promise<Browser> {
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { sub, sid, preferred_username: sub, iat: now() - 5 } })
    expect(await signedInUser(browser)).toBe(sub)
    return browser
  }

  test('with sid ends the sessions of this session id only, and responds 200 with no-store and no cookie', async () => {
    const [one, other] = [await signIn('anna', 'sid-1'), await signIn('anna', 'sid-2')]
    const answer = await logout({ sub: 'anna', sid: 'sid-1' })
    expect([answer.statusCode, answer.body]).toEqual([200, ''])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect([await signedInUser(one), await signedInUser(other)]).toEqual([undefined, 'anna'])
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'signed_out_by_provider', reason: 'session' }))
  })

  test('with sub only ends all sessions of the identity, and none of another user', async () => {
    const browsers = [await signIn('bert', 'sid-3'), await signIn('bert'), await signIn('cora', 'sid-4')]
    expect((await logout({ sub: 'bert' })).statusCode).toBe(200)
    const users = await Promise.all(browsers.map((browser) => signedInUser(browser)))
    expect(users).toEqual([undefined, undefined, 'cora'])
  })

  test('takes an ended session from the list of the user', async () => {
    await signIn('dora', 'sid-5')
    const rows = await server.database.query<{ user_id: string }>({
      name: 'test_dora',
      text: "select user_id from users where username = 'dora'",
      values: []
    })
    const list = () => server.deps.session.sessions.list(rows[0]?.user_id ?? '')
    expect(await list()).toHaveLength(1)
    await logout({ sid: 'sid-5' })
    expect(await list()).toEqual([])
  })

  test('also ends the session of a sign-in in progress', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser)
    // The provider has issued the ID token; the logout overtakes the callback.
    provider.signs({ claims: { nonce, sub: 'emil', sid: 'sid-6', preferred_username: 'emil', iat: now() - 1 } })
    expect((await logout({ sub: 'emil', sid: 'sid-6' })).statusCode).toBe(200)
    await browser.get(callbackUrl({ code: 'c', state }))
    expect(await signedInUser(browser)).toBeUndefined()
  })

  test('does not end a session that began after it', async () => {
    await signIn('fred')
    await logout({ sub: 'fred' }, { claims: { iat: now() - 2 } })
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { sub: 'fred', preferred_username: 'fred' } })
    expect(await signedInUser(browser)).toBe('fred')
    // An older token that arrives late does not weaken a newer one, and ends nothing new.
    await logout({ sub: 'fred' }, { claims: { iat: now() - 60 } })
    expect(await signedInUser(browser)).toBe('fred')
  })

  test('does not end the session of a sign-in that began after it in the same second', async () => {
    const iat = now()
    await signIn('lea')
    expect((await logout({ sub: 'lea', iat })).statusCode).toBe(200)
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { sub: 'lea', preferred_username: 'lea', iat } })
    expect(await signedInUser(browser)).toBe('lea')
    expect((await logout({ sub: 'lea', iat })).statusCode).toBe(200)
    expect(await signedInUser(browser)).toBeUndefined()
  })

  test('responds 200 if there is nothing to end', async () => {
    expect((await logout({ sub: 'unknown', sid: 'unknown' })).statusCode).toBe(200)
  })

  test('accepts a jti once, also when the tokens arrive at the same time', async () => {
    const token = await provider.logoutToken({ claims: { sub: 'gina' } })
    const answers = await Promise.all([send(token), send(token), send(token)])
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 400, 400])
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: 'request_refused', reason: 'logout_token_used_jti' })
    )
  })

  test.each<{ name: string; token: ForgedToken; reason: string }>([
    { name: 'another aud', token: { claims: { aud: 'other' } }, reason: 'invalid_token' },
    { name: 'another iss', token: { claims: { iss: 'https://evil.example' } }, reason: 'invalid_token' },
    { name: 'no exp', token: { claims: { exp: undefined } }, reason: 'invalid_token' },
    { name: 'exp in the past', token: { claims: { exp: 1_000 } }, reason: 'invalid_token' },
    {
      name: 'iat three minutes ago',
      token: { claims: { iat: Math.floor(Date.now() / 1000) - 180 } },
      reason: 'invalid_token'
    },
    {
      name: 'iat in a minute',
      token: { claims: { iat: Math.floor(Date.now() / 1000) + 90 } },
      reason: 'invalid_token'
    },
    { name: 'no jti', token: { claims: { jti: undefined } }, reason: 'invalid_token' },
    { name: 'an unknown kid', token: { header: { kid: 'new' } }, reason: 'invalid_token' },
    { name: 'no signature', token: { sign: () => 'eyJhbGciOiJub25lIn0.e30.' }, reason: 'invalid_token' },
    { name: 'no JWT', token: { sign: () => 'abc' }, reason: 'invalid_token' },
    { name: 'a nonce', token: { claims: { nonce: 'n' } }, reason: 'nonce_present' },
    { name: 'no event', token: { claims: { events: {} } }, reason: 'wrong_events' },
    { name: 'typ JWT', token: { header: { typ: 'JWT' } }, reason: 'wrong_typ' },
    { name: 'neither sub nor sid', token: { claims: { sub: undefined } }, reason: 'no_sub_or_sid' }
  ])('with $name is 400 and ends nothing', async ({ token, reason }) => {
    const browser = await signIn('hans', 'sid-7')
    const answer = await logout({ sub: 'hans' }, token)
    expect([answer.statusCode, JSON.parse(answer.body).error]).toEqual([400, 'invalid_request'])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: 'request_refused', reason: `logout_token_${reason}` })
    )
    expect(await signedInUser(browser)).toBe('hans')
  })

  test('without a token, with two tokens, and with an ID token is 400', async () => {
    const token = await provider.logoutToken({ claims: { sub: 'ines' } })
    const idToken = await provider.logoutToken({
      claims: { sub: 'ines', events: undefined, nonce: 'n' },
      header: { typ: 'JWT' }
    })
    const answers = [await send(''), await send(token, `&logout_token=${token}`), await send(idToken)]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400])
    expect(log.text()).not.toContain(token)
  })

  test('is 503 while the keys cannot be read, so that the provider sends it again', async () => {
    const other = await startForgingProvider()
    const fresh = await startTestServer(providersSetting(providerSetting(other)), log.logger)
    const payload = new URLSearchParams({ logout_token: await other.logoutToken({ claims: { sub: 'x' } }) }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const post = () => fresh.publicServer.inject({ method: 'POST', url: '/login/with/forger/logout', headers, payload })
    other.answers({ '/jwks': { status: 503 } })
    const answer = await post()
    expect([answer.statusCode, JSON.parse(answer.body).error]).toEqual([503, 'temporarily_unavailable'])
    // Any person can send such a request.
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([])
    expect(await fresh.deps.watched.metrics.expose()).not.toMatch(/logout".*status="5xx"/)
    other.answers({})
    expect((await post()).statusCode).toBe(200)
    await fresh.close()
    await other.close()
  })
})
