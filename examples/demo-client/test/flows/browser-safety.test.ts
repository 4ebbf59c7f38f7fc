import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BASE_URL, connectedBrowser, type Harness, startHarness } from '../support/harness.js'

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

test('no token, code, verifier or client secret is sent to the browser or written to the log', async () => {
  const browser = await connectedBrowser(harness)
  await browser.get('/files')
  harness.authorizationServer.state.liveAccessTokens.clear()
  await browser.get('/files')
  await browser.get(harness.authorizationServer.allow(await browser.startConnecting()).replace('iss=', 'iss=x'))
  await browser.get(harness.authorizationServer.allow(await browser.startConnecting()).replace('code=', 'code=x'))
  await browser.get('/nowhere?code=vk_ac_secret')
  harness.authorizationServer.state.secrets.add('vk_ac_secret')
  await browser.post('/disconnect')
  const everything = [...browser.received, ...harness.log].join('\n')
  const { secrets } = harness.authorizationServer.state
  expect(secrets.size).toBeGreaterThan(8)
  expect([...secrets].filter((secret) => everything.includes(secret))).toEqual([])
  expect(harness.log.join('')).toContain('"path":"/callback"')
})

test.each(['/', '/files', '/nowhere', '/callback', '/style.css'])('%s carries the protective headers', async (url) => {
  const { headers } = await harness.browser().get(url)
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin'
  })
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('script-src')
  expect(policy).toContain(`form-action 'self' ${harness.authorizationServer.url}`)
})

test.each([
  { name: 'another Origin', headers: { origin: 'https://evil.example' } },
  { name: 'Origin null', headers: { origin: 'null' } },
  { name: 'Origin null and Sec-Fetch-Site cross-site', headers: { origin: 'null', 'sec-fetch-site': 'cross-site' } },
  { name: 'Sec-Fetch-Site cross-site', headers: { 'sec-fetch-site': 'cross-site' } }
])('a form with $name is refused', async ({ headers }) => {
  const browser = await connectedBrowser(harness)
  expect((await browser.post('/disconnect', headers)).statusCode).toBe(403)
  expect((await browser.post('/connect', headers)).statusCode).toBe(403)
  expect(harness.authorizationServer.state.revoked).toEqual([])
})

test('a form of our own page is accepted behind a proxy that adds Referrer-Policy: no-referrer', async () => {
  const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' }
  expect((await (await connectedBrowser(harness)).post('/disconnect', headers)).statusCode).toBe(303)
})

test('a page requested with another host name redirects to the configured address, without its query', async () => {
  const response = await harness.browser().get('/files?page_token=x', { host: 'localhost:4299' })
  expect(response.statusCode).toBe(302)
  expect(response.headers.location).toBe(`${BASE_URL}/files`)
  const tricky = await harness.browser().get('//evil.example/', { host: 'localhost:4299' })
  expect(tricky.headers.location).toBe(`${BASE_URL}/evil.example/`)
})

test.each([
  { url: '/nowhere', status: 404, words: 'There is no such page' },
  { url: '/files?page_token=a&page_token=b', status: 400, words: 'We did not understand that' }
])('$url responds with $status and a page', async ({ url, status, words }) => {
  const page = await (await connectedBrowser(harness)).get(url)
  expect(page.statusCode).toBe(status)
  expect(page.headers['content-type']).toContain('text/html')
  expect(page.body).toContain(words)
})

test('a body that is not a form is refused', async () => {
  const page = await harness.app.inject({
    method: 'POST',
    url: '/connect',
    headers: { host: new URL(BASE_URL).host, 'content-type': 'application/json' },
    payload: '{}'
  })
  expect(page.statusCode).toBe(400)
})
