import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { firstForm } from '../../support/browser.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { postForm, postTo, signedInBrowser, signOut } from '../../support/pages.js'
import { disable } from '../../support/tokens.js'

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
    { name: 'the name in another case', fields: { username: 'ALICE', password: PASSWORD } },
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
    { name: 'a wide letter in the name', fields: { username: '\uff41lice', password: PASSWORD } },
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
