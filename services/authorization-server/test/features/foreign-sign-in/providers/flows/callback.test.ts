import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { Browser } from '../../../../support/browser.js'
import { authorizeUrl } from '../../../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import { startInstance } from '../../../../support/instance.js'
import { collectLog } from '../../../../support/log-lines.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith
} from '../../../../support/provider-sign-in.js'

describe('response of a provider', () => {
  let provider: ForgingProvider
  let server: TestServer
  let client: Credentials
  const log = collectLog()

  const queryOf = (change: Record<string, string> = {}) =>
    new URL(authorizeUrl(client.clientId, change)).search.slice(1)

  beforeAll(async () => {
    provider = await startForgingProvider()
    server = await startTestServer(providersSetting(providerSetting(provider)), log.logger)
    client = await server.createClient()
  })

  afterEach(() => {
    provider.answers({})
    log.lines.length = 0
  })

  afterAll(async () => {
    await server?.close()
    await provider?.close()
  })

  test('begins with a request that has response_type=code, S256, nonce, state and the registered redirect URI only', async () => {
    const { parameters } = await depart(server.newBrowser(), queryOf())
    expect(Object.fromEntries(parameters)).toEqual({
      client_id: 'valetkey-at-forger',
      response_type: 'code',
      redirect_uri: `${ISSUER}/login/with/forger/callback`,
      scope: 'openid profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256'
    })
  })

  test.each([
    { prompt: 'login', passed: 'login' },
    { prompt: 'select_account', passed: 'select_account' },
    { prompt: 'login consent', passed: 'login' },
    { prompt: 'consent', passed: null },
    { prompt: '', max_age: '300', passed: 'login' },
    { prompt: 'login', max_age: '300', passed: 'login' },
    { prompt: 'select_account', max_age: '300', passed: 'select_account login' }
  ])('begins with prompt $passed for prompt=$prompt and max_age=$max_age of the client', async (sent) => {
    const { prompt, max_age = '', passed } = sent
    const { parameters } = await depart(server.newBrowser(), queryOf({ prompt, max_age }))
    expect(parameters.get('prompt')).toBe(passed)
    expect(parameters.has('max_age')).toBe(false)
  })

  test('signs in, continues with the request of the client by 303 to an address without code and state, and sends no Referer', async () => {
    const browser = server.newBrowser()
    const page = await signInWith(provider, browser, { query: queryOf() })
    expect([page.statusCode, page.headers.location]).toEqual([303, `${ISSUER}/oauth/authorize?${queryOf()}`])
    expect(page.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    expect((await browser.open(authorizeUrl(client.clientId))).body).toContain('Allow')
  })

  test('with prompt=login of the client reaches the consent page and asks for no second sign-in', async () => {
    const browser = server.newBrowser()
    const page = await signInWith(provider, browser, { query: queryOf({ prompt: 'login' }) })
    const next = await browser.open(String(page.headers.location))
    expect(next.body).toContain('Allow')
  })

  test.each([
    { name: 'within max_age', change: { max_age: '3600' }, age: 3_000 },
    { name: 'a moment ago, for max_age=0', change: { max_age: '0' }, age: 100 },
    { name: 'at an unknown time', change: { max_age: '60' }, age: undefined }
  ])('with max_age of the client accepts a person whom the provider authenticated $name', async ({ change, age }) => {
    const claims = age === undefined ? {} : { auth_time: Math.floor(Date.now() / 1000) - age }
    const browser = server.newBrowser()
    const page = await signInWith(provider, browser, { query: queryOf(change), claims })
    expect((await browser.open(String(page.headers.location))).body).toContain('Allow')
  })

  test.each([
    { name: 'before max_age', change: { max_age: '3600' } },
    { name: 'before, with prompt=login and a long max_age', change: { max_age: '36000', prompt: 'login' } }
  ])('with max_age of the client refuses a person whom the provider authenticated $name', async ({ change }) => {
    const claims = { auth_time: Math.floor(Date.now() / 1000) - 4_000 }
    const page = await signInWith(provider, server.newBrowser(), { query: queryOf(change), claims })
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('did not confirm')
  })

  test('sends the client secret by Basic, the verifier, and redirect_uri without the query', async () => {
    provider.requests.length = 0
    await signInWith(provider, server.newBrowser())
    const sent = provider.requests.find(({ path }) => path === '/token')
    expect(sent?.authorization).toMatch(/^Basic /)
    expect(Object.fromEntries(new URLSearchParams(sent?.body))).toEqual({
      grant_type: 'authorization_code',
      code: 'a code',
      redirect_uri: `${ISSUER}/login/with/forger/callback`,
      code_verifier: expect.stringMatching(/^[\w-]{43}$/)
    })
  })

  test.each([
    { error: 'access_denied', status: 403, title: 'You stopped at', level: undefined },
    { error: 'login_required', status: 403, title: 'You stopped at', level: undefined },
    // Never a 5xx: any person can send these.
    { error: 'temporarily_unavailable', status: 400, title: 'does not respond', level: 'warn' },
    { error: 'server_error', status: 400, title: 'does not respond', level: 'warn' },
    { error: 'invalid_request', status: 400, title: 'is not set up correctly', level: 'warn' },
    { error: 'invalid_client', status: 400, title: 'is not set up correctly', level: 'warn' },
    { error: 'invalid_scope', status: 400, title: 'is not set up correctly', level: 'warn' },
    { error: 'unauthorized_client', status: 400, title: 'is not set up correctly', level: 'warn' }
  ])(
    'with $error shows a page with status $status, other ways and the way back to the app',
    async ({ error, status, title, level }) => {
      const browser = server.newBrowser()
      const { state } = await depart(browser, queryOf())
      const description = 'Call+0900+ATTACKER'
      const page = await browser.get(`${callbackUrl({ error, state })}&error_description=${description}`)
      expect(page.statusCode).toBe(status)
      expect(page.body).toContain(title)
      expect(page.body).not.toContain('ATTACKER')
      expect(page.body).toContain('Try again with')
      expect(page.body).toContain('Sign in with a password')
      expect(page.body).toContain(`https://app.example/callback?error&#x3D;access_denied`)
      const failures = log.lines.filter(({ event }) => event === 'provider_failed')
      expect(failures.map((line) => [line.level, line.reason])).toEqual(level === undefined ? [] : [[level, error]])
      expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason: error }))
    }
  )

  test.each([
    { answer: { status: 400, body: { error: 'invalid_grant' } }, status: 400, reason: 'invalid_grant' },
    { answer: { status: 401, body: { error: 'invalid_client' } }, status: 500, reason: 'invalid_client' },
    // A provider may respond so to an invented code.
    { answer: { status: 400, body: { error: 'made up' } }, status: 400, reason: 'unknown_error' },
    { answer: { status: 400, body: { error: 'invalid_request' } }, status: 400, reason: 'invalid_request' },
    { answer: { status: 403, body: 'Forbidden' }, status: 400, reason: 'http_4xx' },
    { answer: { status: 500, body: { error: 'server_error' } }, status: 503, reason: 'http_5xx' },
    { answer: { status: 502, body: 'Bad gateway' }, status: 503, reason: 'http_5xx' },
    { answer: { body: { access_token: 'a', token_type: 'Bearer' } }, status: 400, reason: 'unexpected_response' }
  ])(
    'whose token request is answered $answer.status $reason shows a page with status $status',
    async ({ answer, status, reason }) => {
      provider.answers({ '/token': answer })
      const page = await signInWith(provider, server.newBrowser())
      expect(page.statusCode).toBe(status)
      expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason }))
    }
  )

  const postForm = (fields: string, headers = {}) =>
    server.publicServer.inject({
      method: 'POST',
      url: '/login/with/forger/callback',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: provider.issuer,
        'sec-fetch-site': 'cross-site',
        ...headers
      },
      payload: fields
    })

  test('as a form from the site of the provider signs in after a redirect (Form Post Response Mode)', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser, queryOf())
    provider.signs({ claims: { nonce } })
    // Browsers send no Lax cookie with it.
    const answer = await postForm(`${new URLSearchParams({ code: 'a code+&', state, session_state: 'not passed on' })}`)
    expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([303, undefined])
    expect(answer.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    expect(answer.headers.location).toBe(callbackUrl({ code: 'a code+&', state }))
    provider.requests.length = 0
    const page = await browser.get(String(answer.headers.location))
    expect([page.statusCode, page.headers.location]).toEqual([303, `${ISSUER}/oauth/authorize?${queryOf()}`])
    const sent = new URLSearchParams(provider.requests.find(({ path }) => path === '/token')?.body)
    expect([sent.get('code'), sent.get('redirect_uri')]).toEqual(['a code+&', `${ISSUER}/login/with/forger/callback`])
  })

  test.each([
    { name: 'no parameter', fields: '', query: '?' },
    { name: 'a repeated code', fields: 'code=a&code=b&state=s', query: '?code=&code=&state=s' },
    { name: 'a code that is too long', fields: `state=s&code=${'a'.repeat(8_000)}`, query: '' },
    {
      name: 'an address',
      fields: 'state=//evil.example&redirect_uri=https://evil.example',
      query: '?state=%2F%2Fevil.example'
    }
  ])('as a form with $name leads to the callback, which refuses it', async ({ fields, query }) => {
    const answer = await postForm(fields)
    const url = `${ISSUER}/login/with/forger/callback${query}`
    expect([answer.statusCode, answer.headers.location]).toEqual([303, url])
    expect((await server.newBrowser().get(url)).statusCode).toBe(400)
  })

  test('is requested as a form if that is configured, or if the provider announces nothing else', async () => {
    const cases = [
      { responseMode: 'form_post', announced: ['query'] },
      { responseMode: undefined, announced: ['form_post'] }
    ] as const
    for (const { responseMode, announced } of cases) {
      provider.announces({ response_modes_supported: announced })
      const providers = server.config.signIn.providers.map((settings) => ({ ...settings, responseMode }))
      const fresh = await startInstance(server, { config: { signIn: { ...server.config.signIn, providers } } })
      const { parameters } = await depart(new Browser(fresh.publicServer, ISSUER))
      expect(parameters.get('response_mode')).toBe('form_post')
      await fresh.close()
    }
    provider.announces({})
  })

  test('that arrives twice, as by a reload, continues with the request', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser, queryOf())
    provider.signs({ claims: { nonce } })
    const url = callbackUrl({ code: 'a code', state })
    await browser.get(url)
    provider.requests.length = 0
    const again = await browser.get(url)
    expect([again.statusCode, again.headers.location]).toEqual([303, `${ISSUER}/oauth/authorize?${queryOf()}`])
    expect(provider.requests).toEqual([])
    expect((await browser.open(url)).body).toContain('Allow')
  })

  test('that arrives in two concurrent requests is redeemed once', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser)
    provider.signs({ claims: { nonce } })
    provider.requests.length = 0
    const url = callbackUrl({ code: 'a code', state })
    const pages = await Promise.all([browser.get(url), browser.get(url), browser.get(url)])
    expect(pages.map(({ statusCode }) => statusCode)).toEqual([303, 303, 303])
    expect(provider.requests.filter(({ path }) => path === '/token')).toHaveLength(1)
    expect(await signedInUser(browser)).toBeDefined()
  })

  test('of two tabs finishes both, each with its own request', async () => {
    const browser = server.newBrowser()
    const first = await depart(browser, queryOf({ state: 'tab 1' }))
    const second = await depart(browser, queryOf({ state: 'tab 2' }))
    provider.signs({ claims: { nonce: second.nonce } })
    const secondPage = await browser.get(callbackUrl({ code: 'b', state: second.state }))
    provider.signs({ claims: { nonce: first.nonce } })
    const firstPage = await browser.get(callbackUrl({ code: 'a', state: first.state }))
    expect(secondPage.headers.location).toContain(queryOf({ state: 'tab 2' }))
    expect(firstPage.headers.location).toContain(queryOf({ state: 'tab 1' }))
  })

  test.each([
    { name: 'an unknown state', query: `code=c&state=${'A'.repeat(43)}` },
    { name: 'a malformed state', query: 'code=c&state=short' },
    { name: 'no state', query: 'code=c' },
    { name: 'no parameter', query: '' }
  ])('with $name shows "start again" with status 400', async ({ query }) => {
    const browser = server.newBrowser()
    await depart(browser)
    const page = await browser.get(`${ISSUER}/login/with/forger/callback?${query}`)
    expect([page.statusCode, page.headers['referrer-policy']]).toEqual([400, 'no-referrer'])
    expect(page.body).toContain('no longer available')
    expect(page.body).toContain(`href="${ISSUER}/login"`)
  })

  test('with a repeated state or code signs no user in', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser)
    provider.signs({ claims: { nonce } })
    const twice = await browser.get(`${callbackUrl({ code: 'c', state })}&state=${state}`)
    const codes = await browser.get(`${callbackUrl({ code: 'c', state })}&code=d`)
    expect([twice.statusCode, codes.statusCode]).toEqual([400, 400])
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: 'provider_failed', reason: 'repeated_parameter' })
    )
    expect(await signedInUser(browser)).toBeUndefined()
  })

  test('for a provider that is not configured is 404', async () => {
    const browser = server.newBrowser()
    expect((await browser.get(`${ISSUER}/login/with/unknown`)).statusCode).toBe(404)
    expect((await browser.get(`${ISSUER}/login/with/unknown/callback?code=c&state=s`)).statusCode).toBe(404)
  })

  test('of a browser that is signed in already leaves it where it is', async () => {
    const browser = server.newBrowser()
    await signInWith(provider, browser)
    const page = await browser.get(`${ISSUER}/login/with/forger?${queryOf()}`)
    expect(page.headers.location).toBe(`${ISSUER}/oauth/authorize?${queryOf()}`)
    expect((await browser.get(`${ISSUER}/login/with/forger`)).headers.location).toBe(`${ISSUER}/account/apps`)
  })
})
