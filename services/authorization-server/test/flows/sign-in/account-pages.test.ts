import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { clearCounters } from '../../support/counters.js'
import { PASSWORD } from '../../support/flow.js'
import { collectLog } from '../../support/log-lines.js'
import { hiddenField, visibleText } from '../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../support/pages.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

const clock = stopClock()

afterAll(() => clock.restart())

describe('/account/password', () => {
  const NEW_PASSWORD = 'gravel walks at dawn'
  const PAGE = `${ISSUER}/account/password`
  const { logger, lines } = collectLog()
  let server: TestServer
  let client: Credentials
  let resourceServer: Credentials

  beforeAll(async () => {
    server = await startTestServer({}, logger)
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    await server.database.query({ name: '', text: 'delete from users', values: [] })
    await server.createUser('alice', PASSWORD)
    await clearCounters(server)
  })
  afterAll(async () => {
    await server.close()
  })

  /** A session in which the sign-in is six minutes ago. */
  async function openLater(): Promise<{ browser: Browser; page: Page }> {
    const browser = await signedInBrowser(server)
    clock.advance(360)
    return { browser, page: await browser.open(PAGE) }
  }

  const signIn = async (password: string) => (await attemptSignIn(server, { username: 'alice', password })).statusCode
  const isSignedIn = async (browser: Browser) => (await browser.get(PAGE)).statusCode === 200

  test('changes the password with the current one; other sessions end, this one gets a new id, tokens stay', async () => {
    const other = await signedInBrowser(server)
    const { access_token: token } = await obtainTokens(server, client)
    const { browser, page } = await openLater()
    const before = browser.cookies.get(COOKIES.session)
    const done = await browser.submit(page, { current_password: PASSWORD, new_password: NEW_PASSWORD })
    expect([done.url, done.statusCode]).toEqual([`${PAGE}?done=saved`, 200])
    expect(visibleText(done.body)).toContain('Password saved.')
    expect(browser.cookies.get(COOKIES.session)).not.toBe(before)
    expect([await isSignedIn(browser), await isSignedIn(other)]).toEqual([true, false])
    expect([await signIn(PASSWORD), await signIn(NEW_PASSWORD)]).toEqual([422, 303])
    expect(await isActive(server, resourceServer, token)).toBe(true)
    expect(lines.filter(({ event }) => event === 'password_changed').at(-1)).toMatchObject({
      reason: 'current_password'
    })
  })

  test('needs no current password within five minutes after sign-in', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(PAGE)
    expect(page.body).not.toContain('current_password')
    expect((await browser.submit(page, { new_password: NEW_PASSWORD })).url).toBe(`${PAGE}?done=saved`)
    expect(await signIn(NEW_PASSWORD)).toBe(303)
  })

  test('a form of the first five minutes that is sent later is refused without the current password', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(PAGE)
    clock.advance(360)
    const refused = await browser.submit(page, { new_password: NEW_PASSWORD })
    expect([refused.statusCode, await signIn(PASSWORD)]).toEqual([422, 303])
  })

  test('a wrong current password changes nothing and ends no session', async () => {
    const { browser, page } = await openLater()
    const refused = await browser.submit(page, { current_password: 'wrong', new_password: NEW_PASSWORD })
    expect([refused.statusCode, visibleText(refused.body)]).toEqual([422, expect.stringContaining('is wrong')])
    expect([await signIn(PASSWORD), await isSignedIn(browser)]).toEqual([303, true])
  })

  test('20 wrong current passwords are evaluated, then 429: a stolen session cannot guess', async () => {
    const { browser, page } = await openLater()
    const guess = () => browser.submitOnly(page, { current_password: 'wrong', new_password: NEW_PASSWORD })
    for (let attempt = 0; attempt < 20; attempt++) expect((await guess()).statusCode).toBe(422)
    const limited = await browser.submitOnly(page, { current_password: PASSWORD, new_password: NEW_PASSWORD })
    expect([limited.statusCode, Number(limited.headers['retry-after'])]).toEqual([429, expect.any(Number)])
    await clearCounters(server)
    expect(await signIn(PASSWORD)).toBe(303)
  })

  test.each([
    { password: 'too short', text: 'at least 15 characters' },
    { password: '123456789012345', text: 'follows the alphabet, the numbers' },
    { password: 'alice alice alice', text: 'repeats one part' },
    { password: 'valetkey localhost', text: 'name of this service' },
    { password: '', text: 'at least 15 characters' }
  ])('the password "$password" is refused with its rule', async ({ password, text }) => {
    const browser = await signedInBrowser(server)
    const refused = await browser.submit(await browser.open(PAGE), { new_password: password })
    expect([refused.statusCode, visibleText(refused.body)]).toEqual([422, expect.stringContaining(text)])
    expect(await signIn(PASSWORD)).toBe(303)
  })

  test('a user without a password cannot set one: it would go around the gate of the provider', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(PAGE)
    await server.database.query({ name: '', text: 'update users set password_hash = null', values: [] })
    const answers = [await browser.get(PAGE), await browser.submitOnly(page, { new_password: NEW_PASSWORD })]
    expect(answers.map(({ headers }) => headers.location)).toEqual(Array(2).fill(`${ISSUER}/account/sign-ins`))
    expect(await signIn(NEW_PASSWORD)).toBe(422)
  })

  test('two changes at the same time: the session of one has ended', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(PAGE)
    const pages = await Promise.all(
      ['first', 'second'].map((word) => browser.submitOnly(page, { new_password: `${NEW_PASSWORD} ${word}` }))
    )
    const locations = pages.map(({ headers }) => headers.location).toSorted()
    expect(locations).toEqual([`${PAGE}?done=saved`, `${ISSUER}/login?page=password`])
  })

  test('without a session it leads to the sign-in page and back', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(PAGE)
    expect(login.url).toBe(`${ISSUER}/login?page=password`)
    expect((await browser.submit(login, { username: 'alice', password: PASSWORD })).url).toBe(PAGE)
  })

  test('a form of another site is refused', async () => {
    const browser = await signedInBrowser(server)
    const page = await browser.open(PAGE)
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect((await browser.submitOnly(page, { new_password: NEW_PASSWORD }, headers)).statusCode).toBe(403)
    expect(await signIn(PASSWORD)).toBe(303)
  })
})

describe('/account/sessions', () => {
  const PAGE = `${ISSUER}/account/sessions`
  const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer()
  })
  beforeEach(async () => {
    await server.database.query({ name: '', text: 'delete from users', values: [] })
    await server.createUser('alice', PASSWORD)
    await server.createUser('bob', PASSWORD)
  })
  afterAll(() => server.close())

  async function signInWith(headers: Record<string, string>): Promise<Browser> {
    const browser = server.newBrowser()
    const login = await browser.open(`${ISSUER}/login`)
    await browser.submit(login, { username: 'alice', password: PASSWORD }, headers)
    return browser
  }

  const isSignedIn = async (browser: Browser) => (await browser.get(PAGE)).statusCode === 200
  const countListed = (body: string) => (body.match(/<li class="app/g) ?? []).length

  test('lists the own sessions with browser, way and times, this one first, and no others', async () => {
    await signInWith(FIREFOX)
    await signedInBrowser(server, 'bob')
    const browser = await signInWith({ 'user-agent': '<b>unknown</b>' })
    const { body } = await browser.open(PAGE)
    expect(countListed(body)).toBe(2)
    const text = visibleText(body)
    expect(text.indexOf('This browser')).toBeLessThan(text.indexOf('Firefox, Linux'))
    expect(text).toMatch(/Unknown browser This browser Signed in 1 minute ago With Password/)
    expect(body).toMatch(/<time datetime="\d{4}-\d\d-\d\dT[^"]*Z" title="[^"]* UTC">1 minute ago<\/time>/)
    expect(body).not.toContain('unknown</b>')
  })

  test('the ids on the page are neither the cookie nor the stored hash', async () => {
    const other = await signedInBrowser(server)
    const { body } = await (await signedInBrowser(server)).open(PAGE)
    const cookie = other.cookies.get(COOKIES.session) ?? ''
    expect(hiddenField(body, 'session')).toMatch(/^[\w-]{22}$/)
    expect(body).not.toContain(cookie)
    expect(body).not.toContain(createHash('sha256').update(cookie).digest('base64url'))
  })

  test('ends one session and no other', async () => {
    const [ended, kept] = [await signInWith(FIREFOX), await signedInBrowser(server)]
    const browser = await signedInBrowser(server)
    const page = await browser.open(PAGE)
    const start = page.body.indexOf('<li', page.body.indexOf('Firefox') - 60)
    const form = fromForm(
      Object.assign(Object.create(page), { body: `${page.body.slice(start)}` }),
      '/account/sessions/end'
    )
    const done = await browser.submit(form, {})
    expect(visibleText(done.body)).toContain('That browser is signed out')
    expect(await Promise.all([ended, kept, browser].map(isSignedIn))).toEqual([false, true, true])
    // Sent twice: the list is shown again.
    expect((await browser.submit(form, {})).url).toBe(PAGE)
  })

  test.each(['', 'x', '__proto__', 'A'.repeat(22)])('an unknown id %j ends nothing', async (session) => {
    const other = await signedInBrowser(server)
    const browser = await signedInBrowser(server)
    const form = fromForm(await browser.open(PAGE), '/account/sessions/end')
    await browser.submit(form, { session })
    expect(await Promise.all([other, browser].map(isSignedIn))).toEqual([true, true])
  })

  test('the session of another user cannot be ended', async () => {
    const bobs = [await signedInBrowser(server, 'bob'), await signedInBrowser(server, 'bob')]
    const id = hiddenField((await bobs[0]?.open(PAGE))?.body ?? '', 'session')
    await signedInBrowser(server)
    const browser = await signedInBrowser(server)
    await browser.submit(fromForm(await browser.open(PAGE), '/account/sessions/end'), { session: id })
    expect(await Promise.all(bobs.map(isSignedIn))).toEqual([true, true])
  })

  test('ends all other sessions; this one continues under a new id', async () => {
    const others = [await signedInBrowser(server), await signInWith(FIREFOX)]
    const browser = await signedInBrowser(server)
    const before = browser.cookies.get(COOKIES.session)
    const done = await browser.submit(fromForm(await browser.open(PAGE), '/account/sessions/end-others'), {})
    expect(visibleText(done.body)).toContain('All other browsers are signed out')
    expect(countListed(done.body)).toBe(1)
    expect(browser.cookies.get(COOKIES.session)).not.toBe(before)
    expect(await Promise.all([...others, browser].map(isSignedIn))).toEqual([false, false, true])
  })

  test('sessions that a generation has ended are not listed', async () => {
    await signInWith(FIREFOX)
    await server.database.query({ name: '', text: 'update users set session_generation = 7', values: [] })
    const { body } = await (await signedInBrowser(server)).open(PAGE)
    expect([countListed(body), body.includes('Firefox')]).toEqual([1, false])
  })

  test('without a session it leads to the sign-in page and back', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(PAGE)
    expect(login.url).toBe(`${ISSUER}/login?page=sessions`)
    expect((await browser.submit(login, { username: 'alice', password: PASSWORD })).url).toBe(PAGE)
  })

  test('a form of another site is refused', async () => {
    const other = await signedInBrowser(server)
    const browser = await signedInBrowser(server)
    const form = fromForm(await browser.open(PAGE), '/account/sessions/end-others')
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect((await browser.submitOnly(form, {}, headers)).statusCode).toBe(403)
    expect(await isSignedIn(other)).toBe(true)
  })
})
