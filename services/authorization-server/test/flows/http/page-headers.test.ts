import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { openConsent, postTo, signedInBrowser } from '../../support/pages.js'

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const HTML = { accept: 'text/html' }

type Policy = { scripts?: boolean | undefined; leadsToClient?: boolean | undefined }

const policy = ({ scripts = false, leadsToClient = false }: Policy = {}) =>
  `default-src 'none'; ${scripts ? "script-src 'self'; connect-src 'self'; " : ''}style-src 'self'; img-src 'self'; ${leadsToClient ? '' : "form-action 'self'; "}base-uri 'none'; frame-ancestors 'none'`

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

const newClient = async (redirectUri = 'https://app.example/callback') =>
  (await server.createClient({ redirectUris: [redirectUri] })).clientId

type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body'>
type Shown = { name: string; status: number; get: () => Promise<Answer>; scripts?: boolean; leadsToClient?: boolean }

const PAGES: readonly Shown[] = [
  {
    name: 'sign-in without an app',
    status: 200,
    scripts: true,
    get: () => server.newBrowser().open(`${ISSUER}/login`)
  },
  {
    name: 'sign-in for an app',
    status: 200,
    scripts: true,
    leadsToClient: true,
    get: async () => server.newBrowser().open(authorizeUrl(await newClient()))
  },
  {
    name: 'a failed sign-in',
    status: 422,
    scripts: true,
    leadsToClient: true,
    get: async () => {
      const browser = server.newBrowser()
      return browser.submitOnly(await browser.open(authorizeUrl(await newClient())), {
        username: 'alice',
        password: 'wrong'
      })
    }
  },
  { name: 'signed in', status: 200, get: async () => (await signedInBrowser(server)).open(`${ISSUER}/login`) },
  {
    name: 'consent',
    status: 200,
    leadsToClient: true,
    get: async () => (await openConsent(server, await newClient())).page
  },
  { name: 'an unknown client', status: 400, get: () => server.newBrowser().get(authorizeUrl('unknown')) },
  {
    name: 'a wrong redirect URI',
    status: 400,
    get: async () => server.newBrowser().get(authorizeUrl(await newClient(), { redirect_uri: 'https://evil.example/' }))
  },
  {
    name: 'a request that is too long',
    status: 400,
    get: () => server.newBrowser().get(`${ISSUER}/oauth/authorize?${'a'.repeat(8001)}`)
  },
  {
    name: 'a foreign form',
    status: 403,
    get: () => postTo(server, server.newBrowser(), '/login', '', { origin: 'null' })
  },
  {
    name: 'a JSON body',
    status: 415,
    get: () => postTo(server, server.newBrowser(), '/login', '{}', { ...OWN, 'content-type': 'application/json' })
  },
  {
    name: 'a body too large',
    status: 413,
    get: () => postTo(server, server.newBrowser(), '/login', 'a'.repeat(20_000), OWN)
  },
  { name: 'an error code', status: 200, get: () => server.newBrowser().get(`${ISSUER}/errors/invalid_grant`) },
  { name: 'no such error code', status: 404, get: () => server.newBrowser().get(`${ISSUER}/errors/nothing`) },
  { name: 'no such page', status: 404, get: () => server.newBrowser().get(`${ISSUER}/nothing`) },
  {
    name: 'a wrong method',
    status: 405,
    get: () => server.publicServer.inject({ method: 'PUT', url: '/login', headers: HTML })
  },
  { name: 'no such page, for a program', status: 404, get: () => server.publicServer.inject('/nothing') },
  {
    name: 'HEAD of the sign-in page',
    status: 200,
    scripts: true,
    get: () => server.publicServer.inject({ method: 'HEAD', url: '/login' })
  }
]

const REDIRECTS: readonly Shown[] = [
  {
    name: 'to the sign-in page',
    status: 303,
    get: async () => server.newBrowser().get(authorizeUrl(await newClient()))
  },
  {
    name: 'to the app with an error',
    status: 303,
    get: async () => server.newBrowser().get(authorizeUrl(await newClient(), { scope: undefined }))
  },
  ...['allow', 'deny'].map((decision) => ({
    name: `to the app after ${decision}`,
    status: 303,
    get: async () => {
      const { browser, page } = await openConsent(server, await newClient())
      return browser.submitOnly(page, { decision })
    }
  })),
  { name: 'after signing out', status: 303, get: () => server.newBrowser().get(`${ISSUER}/logout`) }
]

describe('security headers of every page and redirect', () => {
  test.each([...PAGES, ...REDIRECTS])('$name', async ({ get, status, scripts, leadsToClient }) => {
    const { headers, statusCode } = await get()
    expect(statusCode).toBe(status)
    expect(headers).toMatchObject({
      'content-security-policy': policy({ scripts, leadsToClient }),
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY'
    })
    expect(headers).not.toHaveProperty('access-control-allow-origin')
    expect(headers).not.toHaveProperty('etag')
    if (status !== 303) expect(headers['content-type']).toMatch(/^(text\/html|application\/json); charset=utf-8$/)
  })

  test.each(PAGES)('$name: contains no inline script or style, event handler or foreign resource', async ({ get }) => {
    const { body } = await get()
    expect(body).not.toMatch(
      /<(script(?! src="http:\/\/localhost:4000\/assets\/[a-z-]+\.js" defer><\/script>)|style|iframe|object|embed|base|link rel="(?!icon|stylesheet))/i
    )
    expect(body).not.toMatch(/<[^>]+\s(on\w+|style)\s*=/i)
    expect(body).not.toMatch(/javascript:|data:/i)
    for (const [, source] of body.matchAll(/\b(?:src|href)="([^"]*)"/g)) {
      expect(source).toMatch(/^http:\/\/localhost:4000\//)
    }
  })
})

describe('form-action: browsers would apply it also to the redirects of a client’s callback', () => {
  test.each([
    { registered: 'https://app.example/callback', sent: 'https://app.example/callback' },
    { registered: 'http://127.0.0.1/cb', sent: 'http://127.0.0.1:51004/cb' },
    { registered: 'http://[::1]/cb', sent: 'http://[::1]:51004/cb' },
    { registered: 'com.example.app:/cb', sent: 'com.example.app:/cb' }
  ])('pages whose form can end in a redirect to $sent have none', async ({ registered, sent }) => {
    const clientId = await newClient(registered)
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(clientId, { redirect_uri: sent }))
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(login.headers['content-security-policy']).toBe(policy({ scripts: true, leadsToClient: true }))
    expect(consent.headers['content-security-policy']).toBe(policy({ leadsToClient: true }))
  })

  test('a page without an authorization request has it', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(await newClient()))
    await server.database.query({ name: 'disable_all', text: 'update clients set disabled_at = now()', values: [] })
    const page = await browser.open(login.url)
    expect(page.statusCode).toBe(400)
    expect(page.headers['content-security-policy']).toBe(policy())
    expect(page.body).not.toContain('<form')
  })
})

describe('assets', () => {
  test.each([
    ['style.css', 'text/css; charset=utf-8'],
    ['icon.svg', 'image/svg+xml'],
    ['show-password.js', 'text/javascript; charset=utf-8']
  ])('%s may be cached, has its type, and loads nothing', async (name, type) => {
    const { statusCode, headers, body } = await server.publicServer.inject(`/assets/${name}`)
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([200, type, 'public, max-age=300'])
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers).not.toHaveProperty('set-cookie')
    expect(body).not.toMatch(/<script|@import|url\(|javascript:/i)
  })
})

describe('responses to programs', () => {
  const post = (url: string, to = server) =>
    to.publicServer.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'grant_type=authorization_code'
    })

  test.each(['/token', '/oauth/revoke'])('POST %s has no headers of pages', async (url) => {
    const { headers } = await post(url)
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    for (const name of ['content-security-policy', 'x-frame-options', 'referrer-policy']) {
      expect(headers).not.toHaveProperty(name)
    }
  })

  test('an https issuer sends HSTS with pages and with POST /token (RFC 6797 7.2)', async () => {
    const secure = await startTestServer({ ISSUER: 'https://auth.example' })
    try {
      for (const answer of [await secure.publicServer.inject('/login'), await post('/token', secure)]) {
        expect(answer.headers['strict-transport-security']).toBe('max-age=31536000')
      }
    } finally {
      await secure.close()
    }
  })
})
