import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { connectedBrowser, type Harness, startHarness } from '../support/harness.js'

const INVOICE = {
  id: '1',
  name: 'Invoice 2026-10.pdf',
  mime_type: 'application/pdf',
  size: 48_213,
  created_at: '2026-10-31T17:02:11.000Z',
  modified_at: '2026-10-31T17:02:11.000Z'
}

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

test('the list shows name, type, size with the exact bytes, date and a link to older files', async () => {
  const browser = await connectedBrowser(harness)
  harness.resourceServer.state.answer = { files: [INVOICE], next_page_token: 'a b&c' }
  const { body, statusCode } = await browser.get('/files')
  expect(statusCode).toBe(200)
  expect(body).toContain('<span class="file-name">Invoice 2026-10.pdf</span>')
  expect(body).toContain('application/pdf')
  expect(body).toContain('<span title="48,213 bytes">48 kB</span>')
  expect(body).toContain('<time datetime="2026-10-31T17:02:11.000Z">31 Oct 2026, 17:02</time>')
  expect(body).toContain('href="/files?page_token&#x3D;a+b%26c"')
  await browser.get('/files?page_token=a+b%26c')
  expect(harness.resourceServer.state.requests.at(-1)).toBe('/v1/files?page_token=a+b%26c')
})

test('a page without files shows a sentence instead of an empty table', async () => {
  const browser = await connectedBrowser(harness)
  const { body } = await browser.get('/files')
  expect(body).toContain('No files yet')
  expect(body).not.toContain('<table')
})

test('file names from the API are shown as text, not as markup', async () => {
  const browser = await connectedBrowser(harness)
  const nasty = '<img src=x onerror=alert(1)>"\'&'
  harness.resourceServer.state.answer = {
    files: [{ ...INVOICE, name: nasty, mime_type: nasty }],
    next_page_token: nasty
  }
  const { body } = await browser.get('/files')
  expect(body).not.toContain('<img src=x')
  expect(body).toContain('&lt;img src&#x3D;x onerror&#x3D;alert(1)&gt;&quot;&#x27;&amp;')
})

test('a browser without a connection is redirected to the start', async () => {
  expect((await harness.browser().get('/files')).headers.location).toBe('/')
})

test('a refused token is refreshed once, and the list is requested again (RFC 6749 §6)', async () => {
  const browser = await connectedBrowser(harness)
  harness.authorizationServer.state.liveAccessTokens.clear()
  expect((await browser.get('/files')).statusCode).toBe(200)
  expect((await browser.get('/files')).statusCode).toBe(200)
  expect(harness.authorizationServer.state.refreshes).toBe(1)
})

test('an expired token is refreshed without being sent to the files API', async () => {
  const browser = await connectedBrowser(harness)
  harness.clock.offset = 3_600_000
  expect((await browser.get('/files')).statusCode).toBe(200)
  expect(harness.authorizationServer.state.refreshes).toBe(1)
  expect(harness.resourceServer.state.requests).toHaveLength(1)
})

test('five concurrent requests that need a refresh share one', async () => {
  const browser = await connectedBrowser(harness)
  harness.authorizationServer.state.liveAccessTokens.clear()
  harness.authorizationServer.state.tokenDelayMs = 30
  const pages = await Promise.all(Array.from({ length: 5 }, () => browser.get('/files')))
  expect(pages.map((page) => page.statusCode)).toEqual([200, 200, 200, 200, 200])
  expect(harness.authorizationServer.state.refreshes).toBe(1)
})

test('Disconnect during a refresh revokes the new refresh token', async () => {
  const browser = await connectedBrowser(harness)
  const { state } = harness.authorizationServer
  state.liveAccessTokens.clear()
  state.tokenDelayMs = 50
  const before = state.tokenRequests
  const listing = browser.get('/files')
  while (state.tokenRequests === before) await new Promise((resolve) => setTimeout(resolve, 2))
  await browser.post('/disconnect')
  await listing
  expect(state.refreshes).toBe(1)
  expect(state.revoked).toEqual([...state.liveRefreshTokens])
})

test.each([
  { name: 'the refresh token has ended', change: () => harness.authorizationServer.state.liveRefreshTokens.clear() },
  { name: 'there is no refresh token', without: true }
])('access has ended when $name: the tokens are deleted', async ({ change, without }) => {
  harness.authorizationServer.state.issuesRefreshTokens = without !== true
  const browser = await connectedBrowser(harness)
  harness.authorizationServer.state.liveAccessTokens.clear()
  change?.()
  const page = await browser.get('/files')
  expect(page.statusCode).toBe(403)
  expect(page.body).toContain('Access has ended')
  expect(page.body).toContain('action="/connect"')
  expect((await browser.get('/files')).headers.location).toBe('/')
})

test('an authorization server that is unavailable during a refresh does not end the connection', async () => {
  const browser = await connectedBrowser(harness)
  harness.authorizationServer.state.liveAccessTokens.clear()
  await harness.authorizationServer.stop()
  expect((await browser.get('/files')).statusCode).toBe(503)
  await harness.authorizationServer.start()
  expect((await browser.get('/files')).statusCode).toBe(200)
})

test.each([
  { status: 503, url: '/files', answer: 503, words: 'Your files cannot be reached' },
  { status: 500, url: '/files', answer: 503, words: 'Your files cannot be reached' },
  { status: 403, url: '/files', answer: 403, words: 'The permission does not cover this' },
  { status: 400, url: '/files?page_token=old', answer: 400, words: 'This part of the list is gone' }
])('files API answers $status to $url: a page with $answer', async ({ status, url, answer, words }) => {
  const browser = await connectedBrowser(harness)
  harness.resourceServer.state.status = status
  const page = await browser.get(url)
  expect(page.statusCode).toBe(answer)
  expect(page.body).toContain(words)
})

test.each([[{ files: 'none' }], [{ files: [{ name: 'x' }] }], [null]])(
  'an answer like %j is not shown',
  async (answer) => {
    const browser = await connectedBrowser(harness)
    harness.resourceServer.state.answer = answer
    expect((await browser.get('/files')).statusCode).toBe(503)
  }
)

test('an unavailable files API: the page says to try again, and the connection stays', async () => {
  const browser = await connectedBrowser(harness)
  await harness.resourceServer.stop()
  const page = await browser.get('/files')
  expect(page.statusCode).toBe(503)
  expect(page.body).toContain('You are still connected')
  await harness.resourceServer.start()
  expect((await browser.get('/files')).statusCode).toBe(200)
})
