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
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

const NEW_PASSWORD = 'gravel walks at dawn'
const PAGE = `${ISSUER}/account/password`
const { logger, lines } = collectLog()

const clock = stopClock()
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
  clock.restart()
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

describe('/account/password', () => {
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
