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
import { authorizeUrl, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField } from '../../support/page-content.js'
import { postTo, signedInBrowser } from '../../support/pages.js'

let server: TestServer
let client: Credentials
let username: string
let userId: string

beforeAll(async () => {
  server = await startTestServer()
  client = await server.createClient({ consent: 'remember' })
})
beforeEach(async () => {
  username = `user-${Math.random()}`
  userId = await server.createUser(username, PASSWORD)
})
afterAll(() => server.close())

async function remembered(): Promise<Browser> {
  const browser = await signedInBrowser(server, username)
  const page = await browser.open(authorizeUrl(client.clientId))
  if (endOf(page) === '200 /consent') await browser.submitOnly(page, { decision: 'allow' })
  return browser
}

async function ended(): Promise<Browser> {
  const browser = await remembered()
  const text = 'update users set session_generation = session_generation + 1 where user_id = $1'
  await server.database.query({ name: 'test_end_sessions', text, values: [userId] })
  return browser
}

async function lost(): Promise<Browser> {
  const browser = await remembered()
  const hash = createHash('sha256').update(browser.cookies.get(COOKIES.session) ?? '')
  expect(await server.redis.del(`vk:session:${hash.digest('base64url')}`)).toBe(1)
  return browser
}

async function known(): Promise<Browser> {
  const browser = server.newBrowser()
  await browser.open(`${ISSUER}/login`)
  return browser
}

const SESSIONS: Readonly<Record<string, () => Promise<Browser>>> = {
  'no cookie': async () => server.newBrowser(),
  'no session': known,
  'a session that its user has ended': ended,
  'a session that Redis has lost': lost,
  'a session': () => signedInBrowser(server, username),
  'a session and a remembered consent': remembered
}
const NO_SESSION = Object.keys(SESSIONS).slice(0, 4)

/** Where the browser ends: a page, a code, or an error. */
function endOf(page: Page): string {
  if (page.headers.location === undefined) return `${page.statusCode} ${new URL(page.url).pathname}`
  const { code, error = 'no error' } = responseParameters(page)
  return code === undefined ? error : 'code'
}

const addressOf = (step: string, prompt: string | undefined) =>
  authorizeUrl(client.clientId, { prompt }).replace('/oauth/authorize', step)

type Row = { prompt: string | undefined; session: string; end: string }
const rows = (session: string, ends: readonly (readonly [string | undefined, string])[]): Row[] =>
  ends.map(([prompt, end]) => ({ prompt, session, end }))

const ROWS: readonly Row[] = [
  ...NO_SESSION.flatMap((session) =>
    rows(session, [
      [undefined, '200 /login'],
      ['login', '200 /login'],
      ['select_account', '200 /login'],
      ['consent', '200 /login'],
      ['login consent', '200 /login'],
      ['none', 'login_required']
    ])
  ),
  ...rows('a session', [
    [undefined, '200 /consent'],
    ['login', '200 /login'],
    ['select_account', '200 /login'],
    ['consent', '200 /consent'],
    ['login consent', '200 /login'],
    ['none', 'consent_required']
  ]),
  ...rows('a session and a remembered consent', [
    [undefined, 'code'],
    ['login', '200 /login'],
    ['select_account', '200 /login'],
    ['consent', '200 /consent'],
    ['login consent', '200 /login'],
    ['none', 'code']
  ])
]

describe('every step address leads to the same step', () => {
  test.each(ROWS)('prompt $prompt, $session: $end', async ({ prompt, session, end }) => {
    for (const step of ['/oauth/authorize', '/login', '/consent']) {
      const browser = await SESSIONS[session]?.()
      expect([step, endOf((await browser?.open(addressOf(step, prompt))) as Page)]).toEqual([step, end])
    }
  })

  test.each(ROWS)('prompt $prompt, $session: a made-up resume id changes nothing', async ({ prompt, session, end }) => {
    for (const step of ['/oauth/authorize', '/login', '/consent']) {
      const browser = await SESSIONS[session]?.()
      const page = await browser?.open(`${addressOf(step, prompt)}&resume=${'r'.repeat(43)}`)
      expect([step, endOf(page as Page)]).toEqual([step, end])
    }
  })

  test.each([
    ...Object.keys(SESSIONS).map((session) => ({ session, step: '/oauth/authorize', end: '400 /oauth/authorize' })),
    ...Object.keys(SESSIONS).map((session) => ({ session, step: '/consent', end: '400 ' })),
    ...NO_SESSION.flatMap((session) =>
      ['/login', '/account/apps', '/logout'].map((step) => ({ session, step, end: '200 /login' }))
    ),
    ...Object.keys(SESSIONS)
      .slice(4)
      .flatMap((session) =>
        ['/login', '/account/apps', '/logout'].map((step) => ({ session, step, end: '200 /account/apps' }))
      )
  ])('$step without a request, $session: $end', async ({ session, step, end }) => {
    const browser = await SESSIONS[session]?.()
    expect(endOf((await browser?.open(ISSUER + step)) as Page)).toMatch(end)
  })
})

describe('a form with a valid CSRF token, sent to another step', () => {
  test.each(ROWS)('/consent, prompt $prompt, $session: no code without a pending request', async (row) => {
    const browser = (await SESSIONS[row.session]?.()) as Browser
    const page = await browser.open(`${ISSUER}/login`)
    const form = `csrf_token=${hiddenField(page.body, 'csrf_token')}&decision=allow`
    const response = await postTo(server, browser, addressOf('/consent', row.prompt), form, { origin: ISSUER })
    expect([response.statusCode, response.headers.location]).toEqual([
      303,
      expect.stringMatching(/^[^?]*\/authorize\?/)
    ])
  })

  test.each(ROWS.filter(({ end }) => end !== '200 /login'))(
    '/login, prompt $prompt, $session: the password is not checked',
    async ({ prompt, session }) => {
      const browser = (await SESSIONS[session]?.()) as Browser
      const page = await browser.open(`${ISSUER}/login`)
      const form = `csrf_token=${hiddenField(page.body, 'csrf_token')}&username=${username}&password=wrong`
      const response = await postTo(server, browser, addressOf('/login', prompt), form, { origin: ISSUER })
      expect([response.statusCode, response.headers['set-cookie']]).toEqual([303, undefined])
      expect(response.headers.location).toMatch(/^[^?]*\/authorize\?/)
    }
  )
})
