import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { hash } from '@node-rs/argon2'
import { hash as hashBcrypt } from '@node-rs/bcrypt'
import type { LightMyRequestResponse } from 'fastify'
import { createPasswordQueue } from '../../../src/platform/passwords/password-queue.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { type Browser, firstForm, type Page } from '../../support/browser.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { openConsent, postForm, postTo, signedInBrowser, signOut } from '../../support/pages.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { disable } from '../../support/tokens.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

describe('sign-in', () => {
  const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
  const LONG = 'a'.repeat(10_000)

  let server: TestServer
  let client: Credentials
  /** The response to a wrong password. */
  let reference: LightMyRequestResponse

  beforeAll(async () => {
    // These tests make more failures than the limits allow. The limits have their own tests.
    server = await startTestServer({ LIMITS_FACTOR: '100' })
    client = await server.createClient({ name: 'Photo Printer' })
    await server.createUser('alice', PASSWORD)
    await server.createUser('Jos\u00e9 \u674e', 'p\u00e4ssw\u00f6rd \u{1f511}')
    await server.createUser('with two  blanks', PASSWORD)
    await server.createUser('<b>"&\'', PASSWORD)
    await server.createUser('padded', ' padded password ')
    await server.createUser('limit', 'p'.repeat(1024))
    await disable(server, 'user', await server.createUser('disabled', PASSWORD))
    reference = (await tryToSignIn({ username: 'alice', password: 'wrong' })).answer
  })
  afterAll(() => server.close())

  const openLogin = async () => {
    const browser = server.newBrowser()
    return { browser, page: await browser.open(authorizeUrl(client.clientId)) }
  }

  async function tryToSignIn(fields: Record<string, string | undefined>) {
    const { browser, page } = await openLogin()
    return { browser, page, answer: await postForm(server, browser, page, fields, OWN) }
  }

  describe('every wrong name or password gets the same response', () => {
    test.each<{ name: string; fields: Record<string, string | undefined> }>([
      { name: 'an unknown user', fields: { username: 'unknown', password: PASSWORD } },
      { name: 'a disabled user with the right password', fields: { username: 'disabled', password: PASSWORD } },
      { name: 'a disabled user with a wrong password', fields: { username: 'disabled', password: 'wrong' } },
      { name: 'the password in another case', fields: { username: 'alice', password: PASSWORD.toUpperCase() } },
      { name: 'a space after the password', fields: { username: 'alice', password: `${PASSWORD} ` } },
      { name: 'only the start of the password', fields: { username: 'alice', password: PASSWORD.slice(0, -1) } },
      { name: 'the password without its spaces', fields: { username: 'padded', password: 'padded password' } },
      { name: 'no password', fields: { username: 'alice', password: undefined } },
      { name: 'an empty password', fields: { username: 'alice', password: '' } },
      { name: 'no name', fields: { username: undefined, password: PASSWORD } },
      { name: 'an empty name', fields: { username: '', password: PASSWORD } },
      { name: 'nothing', fields: { username: undefined, password: undefined } },
      { name: 'a name of spaces', fields: { username: '   ', password: PASSWORD } },
      { name: 'a name of 10,000 letters', fields: { username: LONG, password: PASSWORD } },
      { name: 'the right name followed by 10,000 letters', fields: { username: `alice${LONG}`, password: PASSWORD } },
      { name: 'a password of 10,000 letters', fields: { username: 'alice', password: LONG } },
      { name: 'a password of 1025 bytes', fields: { username: 'limit', password: 'p'.repeat(1025) } },
      { name: 'a NUL in the name', fields: { username: 'alice\u0000', password: PASSWORD } },
      { name: 'a NUL in the password', fields: { username: 'alice', password: `${PASSWORD}\u0000` } },
      { name: 'a line break in the name', fields: { username: 'ali\nce', password: PASSWORD } },
      { name: 'a look-alike letter in the name', fields: { username: '\u0430lice', password: PASSWORD } },
      { name: 'SQL', fields: { username: "' or '1'='1", password: "' or '1'='1" } },
      { name: 'a pattern of SQL', fields: { username: 'al%', password: PASSWORD } },
      { name: 'markup', fields: { username: '"><script>alert(1)</script>', password: 'x' } },
      { name: 'the name of an object', fields: { username: '__proto__', password: 'constructor' } },
      { name: 'fields in brackets', fields: { 'username[]': 'alice', 'password[]': PASSWORD } }
    ])('$name', async ({ fields }) => {
      const { answer, browser, page } = await tryToSignIn(fields)
      expect(answer.statusCode).toBe(422)
      expect(Object.keys(answer.headers).sort()).toEqual(Object.keys(reference.headers).sort())
      expect(answer.headers['content-security-policy']).toBe(reference.headers['content-security-policy'])
      expect(visibleText(answer.body)).toBe(visibleText(reference.body))
      expect(visibleText(answer.body)).toContain('The user name or the password is wrong.')
      expect(answer.cookies).toEqual([])
      // The form contains the escaped name and not the password.
      const shown = { ...page, ...answer, url: page.url }
      const typed = fields.username ?? ''
      const entered = /\p{Cc}/u.test(typed) ? '' : typed
      expect(firstForm(shown.body).fields).toMatchObject({ username: entered, password: '' })
      expect(answer.body).not.toMatch(/<script(?! src="http:\/\/localhost:4000\/assets\/)/)
      // The same page can be used to sign in.
      const next = await browser.submit(shown, { username: 'alice', password: PASSWORD })
      expect(visibleText(next.body)).toContain('Allow Photo Printer?')
    })

    test('an unknown user takes as long as a known user', async () => {
      const fastest = new Map<string, number>()
      // In turns, so that other load of the machine slows all of them alike.
      for (let round = 0; round < 8; round++) {
        for (const username of ['alice', 'unknown', 'disabled', LONG]) {
          const { browser, page } = await openLogin()
          const start = performance.now()
          await postForm(server, browser, page, { username, password: 'wrong' }, OWN)
          fastest.set(username, Math.min(fastest.get(username) ?? Infinity, performance.now() - start))
        }
      }
      // Without a password hash it would take a tenth.
      const known = fastest.get('alice') ?? Infinity
      for (const [, time] of fastest) expect(time).toBeGreaterThan(known / 3)
    })
  })

  describe('accepted names and passwords', () => {
    test.each([
      { name: 'spaces around the name', username: '  alice\u00a0', password: PASSWORD, as: 'alice' },
      { name: 'spaces in the name', username: 'with two  blanks', password: PASSWORD, as: 'with two blanks' },
      { name: 'spaces around the password', username: 'padded', password: ' padded password ', as: 'padded' },
      {
        name: 'other scripts',
        username: 'Jos\u00e9 \u674e',
        password: 'p\u00e4ssw\u00f6rd \u{1f511}',
        as: 'Jos\u00e9 \u674e'
      },
      {
        name: 'letters and accents apart',
        username: 'Jose\u0301 \u674e',
        password: 'pa\u0308sswo\u0308rd \u{1f511}',
        as: 'Jos\u00e9 \u674e'
      },
      { name: 'a password of 1024 bytes', username: 'limit', password: 'p'.repeat(1024), as: 'limit' },
      { name: 'a name of markup', username: '<b>"&\'', password: PASSWORD, as: '&lt;b&gt;&quot;&amp;&#x27;' }
    ])('$name', async ({ username, password, as }) => {
      const { browser, page } = await openLogin()
      const consent = await browser.submit(page, { username, password })
      expect(visibleText(consent.body)).toContain(`Signed in as ${as} Use another account`)
    })
  })

  describe('a body that is not a form is refused before the password is checked', () => {
    const fields = { username: 'alice', password: PASSWORD }

    test.each([
      { name: 'JSON', type: 'application/json', payload: JSON.stringify(fields), status: 415 },
      { name: 'plain text', type: 'text/plain', payload: 'username=alice', status: 415 },
      { name: 'multipart', type: 'multipart/form-data; boundary=x', payload: '--x--', status: 415 },
      { name: 'XML', type: 'application/xml', payload: '<username>alice</username>', status: 415 },
      {
        name: 'a form of 17 KiB',
        type: 'application/x-www-form-urlencoded',
        payload: `a=${'a'.repeat(17_408)}`,
        status: 413
      },
      { name: 'an empty form', type: 'application/x-www-form-urlencoded', payload: '', status: 422 }
    ])('$name is $status', async ({ type, payload, status }) => {
      const { browser, page } = await openLogin()
      const answer = await postTo(server, browser, page.url, payload, { ...OWN, 'content-type': type })
      expect(answer.statusCode).toBe(status)
      expect(answer.cookies).toEqual([])
      const problem = status === 422 ? 'Your browser sent no cookie' : 'This request could not be read'
      expect(visibleText(answer.body)).toContain(problem)
    })
  })

  describe('a sign-in without an authorization request', () => {
    test('leads to the account page, which has a sign-out button', async () => {
      const browser = await signedInBrowser(server)
      const page = await browser.open(`${ISSUER}/login`)
      expect(page.url).toBe(`${ISSUER}/account/apps`)
      expect(visibleText(page.body)).toContain('You are signed in as alice .')
      const after = await signOut(browser)
      expect(after.url).toBe(`${ISSUER}/login?done=signed_out`)
      expect(visibleText(after.body)).toContain('You are signed out in this browser. User name Password')
      expect(browser.cookies.has(COOKIES.session)).toBe(false)
    })

    test('names no app on the form', async () => {
      const page = await server.newBrowser().open(`${ISSUER}/login`)
      expect(page.statusCode).toBe(200)
      expect(page.body).not.toContain('to continue to')
      expect(firstForm(page.body).action).toBe(`${ISSUER}/login`)
    })

    test('GET /logout ends no session', async () => {
      const browser = await signedInBrowser(server)
      expect((await browser.get(`${ISSUER}/logout`)).headers.location).toBe(`${ISSUER}/login`)
      expect((await browser.open(`${ISSUER}/login`)).body).toContain('You are signed in')
    })

    test('a query without client_id is ignored', async () => {
      const page = await server.newBrowser().open(`${ISSUER}/login?utm_source=mail&done=__proto__`)
      expect(page.statusCode).toBe(200)
      expect(firstForm(page.body).action).toBe(`${ISSUER}/login`)
      expect(page.body).not.toContain('class="notice')
    })
  })
})

describe('a lost cookie', () => {
  const SIGN_IN = { username: 'alice', password: PASSWORD }
  const NO_COOKIE = {
    en: 'Your browser sent no cookie for this sign-in.',
    de: 'Ihr Browser hat kein Cookie für diese Anmeldung gesendet.',
    ar: 'لم يرسل متصفحك ملف تعريف الارتباط الخاص بتسجيل الدخول هذا.'
  }
  let client: Credentials

  beforeAll(async () => {
    client = await server.createClient()
  })

  async function openLogin(): Promise<{ browser: Browser; login: Page }> {
    const browser = server.newBrowser()
    return { browser, login: await browser.open(authorizeUrl(client.clientId, { state: 'mine' })) }
  }

  async function expectToFinish(browser: Browser, page: Page): Promise<void> {
    const consent = await browser.submit(page, SIGN_IN)
    expect(responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))).toMatchObject({
      code: expect.any(String),
      state: 'mine'
    })
  }

  const changes: readonly { name: string; change: (browser: Browser) => Promise<void> }[] = [
    { name: 'that was deleted, or has expired', change: async ({ cookies }) => cookies.clear() },
    {
      name: 'of the sign-in of another browser',
      change: async ({ cookies }) => {
        const { browser } = await openLogin()
        cookies.set(COOKIES.browser, browser.cookies.get(COOKIES.browser) ?? '')
      }
    },
    { name: 'that is malformed', change: async ({ cookies }) => void cookies.set(COOKIES.browser, 'x') }
  ]

  describe.each(changes)('a sign-in form with a cookie $name', ({ change }) => {
    test.each(Object.entries(NO_COOKIE))(
      'comes back in %s and says so, with the user name alone',
      async (language, text) => {
        const { browser, login } = await openLogin()
        await change(browser)
        const again = await browser.submitOnly(login, SIGN_IN, { 'accept-language': language })
        expect([again.statusCode, again.headers['cache-control']]).toEqual([422, 'no-store'])
        expect(visibleText(again.body)).toContain(text)
        expect(again.body).toContain('value="alice"')
        expect(again.body).not.toContain(PASSWORD)
        expect(browser.cookies.has(COOKIES.session)).toBe(false)
        await expectToFinish(browser, again)
      }
    )

    test('does not check the password', async () => {
      const { browser, login } = await openLogin()
      await change(browser)
      const again = await browser.submitOnly(login, { username: '"><b>', password: 'wrong' })
      expect(visibleText(again.body)).toContain(NO_COOKIE.en)
      expect(visibleText(again.body)).not.toContain('wrong')
      expect(again.body).not.toContain('"><b>"')
    })
  })

  test('two sign-in pages of one browser share its cookie: both forms are accepted', async () => {
    const { browser, login } = await openLogin()
    await browser.open(authorizeUrl(client.clientId, { state: 'other' }))
    await expectToFinish(browser, login)
  })

  test('without an authorization request, the form comes back, too', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(`${ISSUER}/login`)
    browser.cookies.clear()
    const again = await browser.submitOnly(login, SIGN_IN)
    expect(visibleText(again.body)).toContain(NO_COOKIE.en)
    expect((await browser.submit(again, SIGN_IN)).url).toBe(`${ISSUER}/account/apps`)
  })

  test('a form of another site does not get the page', async () => {
    const { browser, login } = await openLogin()
    browser.cookies.clear()
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const refused = await browser.submitOnly(login, SIGN_IN, headers)
    expect(refused.statusCode).toBe(403)
    expect(refused.body).not.toContain('alice')
  })

  test('a pending request that expired with its session: the sign-in form explains it, and the request continues', async () => {
    const { browser, page } = await openConsent(server, client.clientId, { change: { state: 'mine' } })
    await server.redis.flushdb()
    await server.database.query({ name: '', text: 'delete from sessions', values: [] })
    const login = await browser.submit(page, { decision: 'allow' })
    expect(new URL(login.url).pathname).toBe('/login')
    expect(visibleText(login.body)).toContain('Your sign-in was interrupted or has expired. Please sign in again')
    await expectToFinish(browser, login)
  })
})

describe('sign-in under load', () => {
  const storedHash = async (): Promise<string> => {
    const text = `select password_hash from users where username = 'alice'`
    const rows = await server.database.query<{ password_hash: string }>({ name: 'test_hash', text, values: [] })
    return rows[0]?.password_hash ?? ''
  }

  const setHash = async (passwordHash: string): Promise<void> => {
    const text = `update users set password_hash = $1 where username = 'alice'`
    await server.database.query({ name: 'test_set_hash', text, values: [passwordHash] })
  }

  test('a full password queue is 503 with Retry-After, counts no failure, and accepts the next sign-in', async () => {
    const { login } = server.deps
    const browser = server.newBrowser()
    const page = await browser.open(`${ISSUER}/login`)
    const spacious = login.passwordQueue
    const full = createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 0, milliseconds: 10_000 })
    login.passwordQueue = full
    const counters = await server.redis.keys('*sign-in*')
    const refused = await browser.submitOnly(page, { username: 'alice', password: PASSWORD })
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '5'])
    expect(visibleText(refused.body)).toContain('The queue is full, so your password was not checked.')
    expect(await server.redis.keys('*sign-in*')).toEqual(counters)
    login.passwordQueue = spacious
    expect((await browser.submit(page, { username: 'alice', password: PASSWORD })).url).toBe(`${ISSUER}/account/apps`)
  })

  test('an imported bcrypt hash waits in the same queue: while it is full, 503, and the hash stays', async () => {
    const imported = await hashBcrypt(PASSWORD, { cost: 4 })
    await setHash(imported)
    const { login } = server.deps
    const spacious = login.passwordQueue
    login.passwordQueue = createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 0, milliseconds: 10_000 })
    const attempt = { username: 'alice', password: PASSWORD }
    expect((await attemptSignIn(server, attempt)).statusCode).toBe(503)
    login.passwordQueue = spacious
    expect(await storedHash()).toBe(imported)
    expect((await attemptSignIn(server, attempt)).statusCode).toBe(303)
    expect(await storedHash()).toMatch(/^\$argon2id/)
  })

  test('a hash with older parameters is replaced at the next successful sign-in', async () => {
    const older = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 })
    await setHash(older)
    const browser = server.newBrowser()
    const page = await browser.open(`${ISSUER}/login`)
    await browser.submitOnly(page, { username: 'alice', password: 'wrong' })
    expect(await storedHash()).toBe(older)
    await signedInBrowser(server)
    const renewed = await storedHash()
    expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    await signedInBrowser(server)
    expect(await storedHash()).toBe(renewed)
  })

  test('a full password queue during the renewal: the sign-in succeeds, and the hash is not replaced', async () => {
    const older = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 })
    await setHash(older)
    const { login } = server.deps
    const spacious = login.passwordQueue
    const [once, full] = [
      createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 1, milliseconds: 10_000 }),
      createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 0, milliseconds: 10_000 })
    ]
    let uses = 0
    login.passwordQueue = { ...once, run: (hashing) => (uses++ === 0 ? once : full).run(hashing) }
    await signedInBrowser(server)
    login.passwordQueue = spacious
    expect(uses).toBe(2)
    expect(await storedHash()).toBe(older)
  })
})
