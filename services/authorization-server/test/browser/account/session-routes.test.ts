import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { COOKIES, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { PASSWORD } from '../../support/flow.js'
import { hiddenField, visibleText } from '../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../support/pages.js'

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

describe('/account/sessions', () => {
  test('lists the own sessions with browser, way and times, this one first, and no others', async () => {
    await signInWith(FIREFOX)
    await signedInBrowser(server, 'bob')
    const browser = await signInWith({ 'user-agent': '<b>unknown</b>' })
    const { body } = await browser.open(PAGE)
    expect(countListed(body)).toBe(2)
    const text = visibleText(body)
    expect(text.indexOf('This browser')).toBeLessThan(text.indexOf('Firefox, Linux'))
    expect(text).toMatch(/Unknown browser.*Signed in .* UTC.*With Password/)
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
