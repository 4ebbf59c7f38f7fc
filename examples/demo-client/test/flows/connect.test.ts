import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BASE_URL, COOKIE, connectedBrowser, type Harness, startHarness } from '../support/harness.js'

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

test('Connect redirects to the authorization endpoint with PKCE S256 and state (RFC 7636 §4.3)', async () => {
  const response = await harness.browser().post('/connect')
  expect(response.statusCode).toBe(303)
  const address = new URL(String(response.headers.location))
  expect(`${address.origin}${address.pathname}`).toBe(`${harness.authorizationServer.url}/oauth/authorize`)
  expect(Object.fromEntries(address.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'photo-printer',
    redirect_uri: `${BASE_URL}/callback`,
    scope: 'files.read',
    state: expect.stringMatching(/^.{43}$/),
    code_challenge: expect.stringMatching(/^.{43}$/),
    code_challenge_method: 'S256'
  })
})

test('Allow connects: the code is exchanged on the server and the session gets a new id', async () => {
  const browser = harness.browser()
  await browser.get('/')
  const idBefore = browser.cookies.get(COOKIE)
  const callback = await browser.get(harness.authorizationServer.allow(await browser.startConnecting()))
  expect(callback.statusCode).toBe(303)
  expect(callback.headers.location).toBe('/files')
  expect(browser.cookies.get(COOKIE)).not.toBe(idBefore)
  expect(callback.headers['set-cookie']).toMatch(/^photo_printer_4299=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  expect((await browser.get('/')).body).toContain('Your files are connected.')
  const oldId = await harness.browser().get('/', { cookie: `${COOKIE}=${idBefore}` })
  expect(oldId.body).not.toContain('Your files are connected.')
})

test('two tabs that start concurrently both connect', async () => {
  const browser = harness.browser()
  await browser.get('/')
  const [first, second] = await Promise.all([browser.startConnecting(), browser.startConnecting()])
  expect((await browser.get(harness.authorizationServer.allow(second))).statusCode).toBe(303)
  expect((await browser.get(harness.authorizationServer.allow(first))).statusCode).toBe(303)
  // The second permission took the place of the first, which is given back.
  expect(harness.authorizationServer.state.revoked).toHaveLength(1)
})

test('Deny shows that access was denied and offers to connect again (RFC 6749 §4.1.2.1)', async () => {
  const browser = harness.browser()
  const answer = harness.authorizationServer.refuse(await browser.startConnecting(), 'access_denied')
  const page = await browser.get(answer)
  expect(page.statusCode).toBe(403)
  expect(page.body).toContain('You did not allow access')
  expect(page.body).toContain('action="/connect"')
})

test.each([
  { error: 'temporarily_unavailable', status: 503, words: 'Valetkey cannot be reached' },
  { error: 'unauthorized_client', status: 502, words: 'This app is not set up correctly' },
  { error: 'invalid_scope', status: 502, words: 'Valetkey refused our request' },
  { error: '<script>alert(1)</script>', status: 502, words: '&lt;script&gt;alert(1)&lt;/script&gt;' }
])('error $error at the callback responds with $status', async ({ error, status, words }) => {
  const browser = harness.browser()
  const page = await browser.get(harness.authorizationServer.refuse(await browser.startConnecting(), error))
  expect(page.statusCode).toBe(status)
  expect(page.body).toContain(words)
  expect(page.body).not.toContain('<script')
})

test('a state that this browser did not start is refused, and no code is exchanged (RFC 6749 §10.12)', async () => {
  const callback = harness.authorizationServer.allow(await harness.browser().startConnecting())
  const page = await harness.browser().get(callback)
  expect(page.statusCode).toBe(400)
  expect(page.body).toContain('This page cannot be used again')
  expect(harness.authorizationServer.state.liveAccessTokens.size).toBe(0)
})

test.each(['/callback', '/callback?code=abc', '/callback?code=abc&state='])(
  '%s without state answers 400',
  async (url) => {
    expect((await harness.browser().get(url)).statusCode).toBe(400)
  }
)

test('the same callback opened twice responds with 400 and keeps the connection', async () => {
  const browser = harness.browser()
  const callback = harness.authorizationServer.allow(await browser.startConnecting())
  await browser.get(callback)
  const again = await browser.get(callback)
  expect(again.statusCode).toBe(400)
  expect(again.body).toContain('This page cannot be used again')
  expect((await browser.get('/files')).statusCode).toBe(200)
})

test('a flow that took more than 15 minutes is refused', async () => {
  const browser = harness.browser()
  const callback = harness.authorizationServer.allow(await browser.startConnecting())
  harness.clock.offset = 16 * 60_000
  expect((await browser.get(callback)).statusCode).toBe(400)
})

test.each([
  { name: 'of another issuer', iss: 'https://evil.example' },
  { name: 'missing', iss: undefined }
])('iss $name is refused, and no code is exchanged (RFC 9207 §2.4)', async ({ iss }) => {
  const browser = harness.browser()
  const callback = new URL(harness.authorizationServer.allow(await browser.startConnecting()), BASE_URL)
  callback.searchParams.delete('iss')
  if (iss !== undefined) callback.searchParams.set('iss', iss)
  const page = await browser.get(`${callback.pathname}${callback.search}`)
  expect(page.statusCode).toBe(400)
  expect(page.body).toContain('We could not verify the response')
  expect(harness.authorizationServer.state.liveAccessTokens.size).toBe(0)
})

test('a code that the token endpoint refuses: the page offers to start again', async () => {
  const browser = harness.browser()
  const callback = harness.authorizationServer.allow(await browser.startConnecting())
  const page = await browser.get(callback.replace('vk_ac_', 'vk_ac_x'))
  expect(page.statusCode).toBe(400)
  expect(page.body).toContain('That took a little too long')
})

test('Disconnect revokes the refresh token and deletes the session (RFC 7009 §2.1)', async () => {
  const browser = await connectedBrowser(harness)
  const response = await browser.post('/disconnect')
  expect(response.headers.location).toBe('/')
  expect(harness.authorizationServer.state.revoked).toEqual([...harness.authorizationServer.state.liveRefreshTokens])
  expect((await browser.get('/')).body).toContain('You are disconnected.')
  expect((await browser.get('/files')).headers.location).toBe('/')
})

test('Disconnect without a refresh token revokes the access token', async () => {
  harness.authorizationServer.state.issuesRefreshTokens = false
  const browser = await connectedBrowser(harness)
  await browser.post('/disconnect')
  expect(harness.authorizationServer.state.revoked).toEqual([...harness.authorizationServer.state.liveAccessTokens])
})

test('Disconnect while the authorization server is unavailable deletes the tokens and says that access must be ended there', async () => {
  const browser = await connectedBrowser(harness)
  await harness.authorizationServer.stop()
  const page = await browser.post('/disconnect')
  expect(page.statusCode).toBe(503)
  expect(page.body).toContain('Disconnected, but only here')
  expect((await browser.get('/files')).headers.location).toBe('/')
})

test('while the authorization server is unavailable the start page works and Connect explains; afterwards Connect works', async () => {
  await harness.authorizationServer.stop()
  const browser = harness.browser()
  expect((await browser.get('/')).statusCode).toBe(200)
  const page = await browser.post('/connect')
  expect(page.statusCode).toBe(503)
  expect(page.body).toContain('Valetkey cannot be reached')
  expect(page.headers['retry-after']).toBeDefined()
  await harness.authorizationServer.start()
  const callback = await browser.get(harness.authorizationServer.allow(await browser.startConnecting()))
  expect(callback.statusCode).toBe(303)
})

test('a token endpoint with 503 at the exchange: the page says to try again', async () => {
  const browser = harness.browser()
  const callback = harness.authorizationServer.allow(await browser.startConnecting())
  harness.authorizationServer.state.tokenStatus = 503
  const page = await browser.get(callback)
  expect(page.statusCode).toBe(503)
  expect(page.body).toContain('Valetkey cannot be reached')
})
