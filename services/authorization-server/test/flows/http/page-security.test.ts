import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { hiddenField, visibleText } from '../../support/page-content.js'
import { openConsent, postForm, postTo, signedInBrowser } from '../../support/pages.js'

/** What browsers send if a proxy adds `Referrer-Policy: no-referrer` to the page. */
const WITHOUT_REFERRER = { origin: 'null', 'sec-fetch-site': 'same-origin' }
const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const HTML = { accept: 'text/html' }

type Policy = { scripts?: boolean | undefined; leadsToClient?: boolean | undefined }

const policy = ({ scripts = false, leadsToClient = false }: Policy = {}) =>
  `default-src 'none'; ${scripts ? "script-src 'self'; " : ''}style-src 'self'; img-src 'self'; ${leadsToClient ? '' : "form-action 'self'; "}base-uri 'none'; frame-ancestors 'none'`

/** Without the permission that a feature adds to a page with scripts: to send requests to us. */
const policyOf = ({ headers }: Pick<Answer, 'headers'>) =>
  String(headers['content-security-policy']).replace("script-src 'self'; connect-src 'self'; ", "script-src 'self'; ")

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
    const answer = await get()
    const { headers, statusCode } = answer
    expect([statusCode, policyOf(answer)]).toEqual([status, policy({ scripts, leadsToClient })])
    expect(headers).toMatchObject({
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
    expect(policyOf(login)).toBe(policy({ scripts: true, leadsToClient: true }))
    expect(policyOf(consent)).toBe(policy({ leadsToClient: true }))
  })

  test('a page without an authorization request has it', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(await newClient()))
    await server.database.query({ name: 'disable_all', text: 'update clients set disabled_at = now()', values: [] })
    const page = await browser.open(login.url)
    expect(page.statusCode).toBe(400)
    expect(policyOf(page)).toBe(policy())
    expect(page.body).not.toContain('<form')
  })
})

describe('assets', () => {
  test.each([
    ['style.css', 'text/css; charset=utf-8'],
    ['icon.svg', 'image/svg+xml'],
    ['show-password.js', 'text/javascript; charset=utf-8'],
    ['busy-button.js', 'text/javascript; charset=utf-8'],
    ['copy-button.js', 'text/javascript; charset=utf-8']
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

describe('forms of other sites', () => {
  type Shown = { browser: Browser; page: Page }
  type Form = {
    show: (where: TestServer) => Promise<Shown>
    fields: Record<string, string>
    /** Whether the form took effect. */
    worked: (answer: LightMyRequestResponse, browser: Browser) => Promise<boolean>
  }

  const CSRF_TOKEN = /^[\w-]{43}$/

  let client: Credentials

  beforeAll(async () => {
    await server.createUser('mallory', PASSWORD)
    client = await server.createClient()
  })

  const FORMS: Readonly<Record<'login' | 'consent' | 'logout', Form>> = {
    login: {
      show: async (where) => {
        const browser = where.newBrowser()
        return { browser, page: await browser.open(authorizeUrl(client.clientId)) }
      },
      fields: { username: 'alice', password: PASSWORD },
      worked: async (answer) => answer.cookies.some(({ name }) => name === COOKIES.session)
    },
    consent: {
      show: async (where) => openConsent(where, client.clientId),
      fields: { decision: 'allow' },
      worked: async (answer) => String(answer.headers.location).includes('code=vk_ac_')
    },
    logout: {
      show: async (where) => {
        const browser = await signedInBrowser(where)
        return { browser, page: await browser.open(`${ISSUER}/login`) }
      },
      fields: {},
      worked: async (_answer, browser) => !(await browser.open(`${ISSUER}/login`)).body.includes('You are signed in')
    }
  }

  type Attempt = {
    name: string
    fields?: Record<string, string | undefined>
    headers?: Record<string, string>
    /** Changes the browser between page and form. */
    meanwhile?: (shown: Shown) => Promise<void> | void
    /** Replaces hidden fields of the page. */
    token?: (shown: Shown) => Promise<string>
    /** The form comes with a session, in which there is no need to sign in. */
    isSignedIn?: true
  }

  /** One of each kind; check-form.test.ts has all values of the two headers. */
  const foreignHeaders: readonly Attempt[] = [
    { name: 'Origin "https://evil.example"', headers: { origin: 'https://evil.example' } },
    { name: 'Sec-Fetch-Site "cross-site"', headers: { 'sec-fetch-site': 'cross-site' } },
    {
      name: 'our Origin, and Sec-Fetch-Site "cross-site"',
      headers: { origin: ISSUER, 'sec-fetch-site': 'cross-site' }
    },
    ...['cross-site', 'same-site', 'none', ''].map((site) => ({
      name: `Origin null, and Sec-Fetch-Site "${site}"`,
      headers: { origin: 'null', 'sec-fetch-site': site }
    }))
  ]

  const foreignForms: readonly Attempt[] = [
    { name: 'no token', fields: { csrf_token: undefined } },
    {
      name: 'the token of another browser',
      token: async ({ page }) => {
        const other = server.newBrowser()
        const { pathname } = new URL(page.url)
        const shown =
          pathname === '/consent'
            ? (await openConsent(server, client.clientId, { username: 'mallory' })).page
            : await other.open(`${ISSUER}/login`)
        return hiddenField(shown.body, 'csrf_token')
      }
    },
    { name: 'no cookie at all', meanwhile: ({ browser }) => browser.cookies.clear() },
    { name: 'no cookie for the browser', meanwhile: ({ browser }) => void browser.cookies.delete(COOKIES.browser) },
    { name: 'a malformed cookie', meanwhile: ({ browser }) => void browser.cookies.set(COOKIES.browser, 'short') },
    {
      name: 'another session than that of the page',
      isSignedIn: true,
      meanwhile: async ({ browser }) => {
        const other = await signedInBrowser(server, 'mallory')
        browser.cookies.set(COOKIES.session, other.cookies.get(COOKIES.session) ?? '')
      }
    }
  ]

  async function attempt(form: Form, { fields = {}, headers = {}, meanwhile, token }: Attempt) {
    const shown = await form.show(server)
    const intact = new Map(shown.browser.cookies)
    await meanwhile?.(shown)
    const csrf = token === undefined ? {} : { csrf_token: await token(shown) }
    const answer = await postForm(server, shown.browser, shown.page, { ...form.fields, ...fields, ...csrf }, headers)
    shown.browser.cookies.clear()
    for (const [name, value] of intact) shown.browser.cookies.set(name, value)
    return { ...shown, answer }
  }

  /** The form had no effect, and the unchanged form of the page still works. */
  async function expectUntouched(form: Form, { browser, page, answer }: Shown & { answer: LightMyRequestResponse }) {
    expect(answer.headers.location ?? '').not.toContain('code=')
    expect(answer.cookies.map(({ name }) => name)).not.toContain(COOKIES.session)
    const own = await postForm(server, browser, page, form.fields, OWN)
    expect(own.statusCode).toBe(303)
    expect(await form.worked(own, browser)).toBe(true)
  }

  describe.each(Object.entries(FORMS))('the form of /%s', (step, form) => {
    test.each(foreignHeaders)('with $name is refused with 403', async (attempted) => {
      const result = await attempt(form, attempted)
      expect(result.answer.statusCode).toBe(403)
      expect(visibleText(result.answer.body)).toContain('This form could not be accepted')
      await expectUntouched(form, result)
    })

    test.each(foreignForms)(
      'with $name and without Origin and Sec-Fetch-Site is refused with 403',
      async (attempted) => {
        const result = await attempt(form, attempted)
        expect(result.answer.statusCode).toBe(403)
        await expectUntouched(form, result)
      }
    )

    const fromOurPage = foreignForms.flatMap((attempted) => [
      { ...attempted, name: `${attempted.name} and our Origin`, headers: OWN },
      { ...attempted, name: `${attempted.name} and Origin null of a page of ours`, headers: WITHOUT_REFERRER }
    ])
    test.each(fromOurPage)('with $name leads to a valid page, and has no effect', async (attempted) => {
      const result = await attempt(form, attempted)
      if (step === 'login' && !attempted.isSignedIn) {
        expect(result.answer.statusCode).toBe(422)
        expect(visibleText(result.answer.body)).toContain('Your browser sent no cookie for this sign-in.')
      } else {
        expect(result.answer.statusCode).toBe(303)
        expect(result.answer.headers.location).toMatch(/^http:\/\/localhost:4000\/(oauth\/authorize\?|login$)/)
      }
      await expectUntouched(form, result)
    })

    test('with a valid token is accepted from an old browser that sends neither Origin nor Sec-Fetch-Site', async () => {
      const { browser, page } = await form.show(server)
      expect(hiddenField(page.body, 'csrf_token')).toMatch(CSRF_TOKEN)
      const answer = await postForm(server, browser, page, form.fields)
      expect(await form.worked(answer, browser)).toBe(true)
    })

    test('with a valid token is accepted with Origin null, if Sec-Fetch-Site is same-origin', async () => {
      const { browser, page } = await form.show(server)
      const answer = await postForm(server, browser, page, form.fields, WITHOUT_REFERRER)
      expect(answer.statusCode).toBe(303)
      expect(await form.worked(answer, browser)).toBe(true)
    })

    test('with the token in the address instead of the body is refused', async () => {
      const { browser, page } = await form.show(server)
      const token = hiddenField(page.body, 'csrf_token')
      const { pathname, search } = new URL(page.url)
      const path = step === 'logout' ? '/logout?' : `${pathname}${search}&`
      const answer = await postTo(
        server,
        browser,
        `${path}csrf_token=${token}`,
        new URLSearchParams(form.fields).toString()
      )
      expect(answer.statusCode).toBe(403)
    })

    test('with the token twice is refused', async () => {
      const { browser, page } = await form.show(server)
      const token = hiddenField(page.body, 'csrf_token')
      const url = step === 'logout' ? '/logout' : page.url
      const body = `${new URLSearchParams(form.fields)}&csrf_token=${token}&csrf_token=${token}`
      expect((await postTo(server, browser, url, body)).statusCode).toBe(403)
    })

    test('with a token of the previous key is accepted while both keys are set', async () => {
      const newKey = 'another-key-for-tests-of-32-characters'
      const both = await startInstance(server, { config: { cookieKeys: [newKey, ...server.config.cookieKeys] } })
      const newOnly = await startInstance(server, { config: { cookieKeys: [newKey] } })
      const { browser, page } = await form.show(server)
      expect((await postForm(newOnly, browser, page, form.fields)).statusCode).toBe(403)
      expect(await form.worked(await postForm(both, browser, page, form.fields), browser)).toBe(true)
      await both.close()
      await newOnly.close()
    })
  })

  test('a form of another site, which comes without cookies, does not replace the id of the browser', async () => {
    const { page } = await FORMS.login.show(server)
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const answer = await postForm(server, { cookies: new Map() }, page, FORMS.login.fields, headers)
    expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([403, undefined])
  })

  test('a token from before sign-in is invalid after it', async () => {
    const { browser, page: login } = await FORMS.login.show(server)
    const before = hiddenField(login.body, 'csrf_token')
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(hiddenField(consent.body, 'csrf_token')).not.toBe(before)
    const answer = await postForm(server, browser, consent, { csrf_token: before, decision: 'allow' })
    expect(answer.statusCode).toBe(403)
  })
})
