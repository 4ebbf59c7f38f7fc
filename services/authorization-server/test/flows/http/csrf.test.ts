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

type Shown = { browser: Browser; page: Page }
type Form = {
  show: (where: TestServer) => Promise<Shown>
  fields: Record<string, string>
  /** Whether the form took effect. */
  worked: (answer: LightMyRequestResponse, browser: Browser) => Promise<boolean>
}

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
/** What browsers send if a proxy adds `Referrer-Policy: no-referrer` to the page. */
const WITHOUT_REFERRER = { origin: 'null', 'sec-fetch-site': 'same-origin' }
const CSRF_TOKEN = /^[\w-]{43}$/

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createUser('mallory', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

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

const foreignHeaders: readonly Attempt[] = [
  ...[
    'https://evil.example',
    'null',
    '',
    'https://localhost:4000',
    'http://localhost',
    'http://localhost:4001',
    'http://127.0.0.1:4000',
    'http://localhost:4000.evil.example',
    'http://localhost:4000/',
    'HTTP://LOCALHOST:4000',
    'http://localhost:4000, https://evil.example'
  ].map((origin) => ({ name: `Origin "${origin}"`, headers: { origin } })),
  ...['cross-site', 'same-site', 'none', '', 'SAME-ORIGIN'].flatMap((site) => [
    { name: `Sec-Fetch-Site "${site}"`, headers: { 'sec-fetch-site': site } },
    { name: `our Origin, and Sec-Fetch-Site "${site}"`, headers: { origin: ISSUER, 'sec-fetch-site': site } }
  ]),
  { name: 'a foreign Origin, and Sec-Fetch-Site same-origin', headers: { ...OWN, origin: 'https://evil.example' } },
  ...['cross-site', 'same-site', 'none', ''].map((site) => ({
    name: `Origin null, and Sec-Fetch-Site "${site}"`,
    headers: { origin: 'null', 'sec-fetch-site': site }
  }))
]

const foreignForms: readonly Attempt[] = [
  { name: 'no token', fields: { csrf_token: undefined } },
  { name: 'an empty token', fields: { csrf_token: '' } },
  { name: 'a wrong token', fields: { csrf_token: 'A'.repeat(43) } },
  { name: 'a token of another length', fields: { csrf_token: 'A'.repeat(42) } },
  { name: 'a token of letters outside ASCII', fields: { csrf_token: 'é'.repeat(43) } },
  { name: 'the token under another name', fields: { csrf_token: undefined, _csrf: 'x', 'csrf_token[]': 'x' } },
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
  {
    name: 'another browser’s cookie',
    meanwhile: ({ browser }) => void browser.cookies.set(COOKIES.browser, 'B'.repeat(43))
  },
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

  test.each(foreignForms)('with $name and without Origin and Sec-Fetch-Site is refused with 403', async (attempted) => {
    const result = await attempt(form, attempted)
    expect(result.answer.statusCode).toBe(403)
    await expectUntouched(form, result)
  })

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
