import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { disableUser, enableUser, setPassword } from '../../../src/operator/use-cases/administer-users.js'
import { TooManyAttempts } from '../../../src/platform/rate-limits/limiter.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { OPERATOR } from '../../support/command-line.js'
import { clearCounters } from '../../support/counters.js'
import { exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { collectLog } from '../../support/log-lines.js'
import { addressesOn, visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { disable, isActive, pairOf } from '../../support/tokens.js'
import { newAccountLink } from './support/account-links.js'

const NEW_PASSWORD = 'gravel walks at dawn'
const author = { actor: { kind: 'command_line', name: OPERATOR } } as const
let count = 0
let username = ''

describe('links', () => {
  const { logger, lines } = collectLog()

  let server: TestServer
  let client: Credentials
  let resourceServer: Credentials
  let userId: string

  beforeAll(async () => {
    server = await startTestServer({}, logger)
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    count += 1
    username = `alice ${count}`
    userId = await server.createUser(username, PASSWORD)
    await clearCounters(server)
  })
  afterAll(() => server.close())

  async function newLink(purpose: 'invitation' | 'password_reset' = 'password_reset'): Promise<string> {
    return newAccountLink(server, userId, purpose)
  }

  async function openLink(url: string): Promise<{ browser: Browser; page: Page }> {
    const browser = server.newBrowser()
    return { browser, page: await browser.open(url) }
  }

  const signIn = async (password: string) => (await attemptSignIn(server, { username, password })).statusCode
  const storedLinks = () =>
    server.database.query({ name: '', text: 'select 1 from account_links where user_id = $1', values: [userId] })

  describe('a reset link', () => {
    test('sets the password, ends all sessions, signs the user in and keeps the access of apps', async () => {
      const other = await signedInBrowser(server, username)
      const { access_token: token } = pairOf(
        await exchange(server, client, await obtainCode(server, client, { username }))
      )
      const { browser, page } = await openLink(await newLink())
      expect(visibleText(page.body)).toContain(`Choose a new password for ${username}`)
      const done = await browser.submit(page, { new_password: NEW_PASSWORD })
      expect([done.url, done.statusCode]).toEqual([`${ISSUER}/account/apps`, 200])
      expect([await signIn(PASSWORD), await signIn(NEW_PASSWORD)]).toEqual([422, 303])
      expect((await other.open(`${ISSUER}/account/apps`)).url).toBe(`${ISSUER}/login`)
      expect(await isActive(server, resourceServer, token)).toBe(true)
    })

    test('ends the access of all apps if asked', async () => {
      const { access_token: token } = pairOf(
        await exchange(server, client, await obtainCode(server, client, { username }))
      )
      const { browser, page } = await openLink(await newLink())
      await browser.submit(page, { new_password: NEW_PASSWORD, end_access: 'on' })
      expect(await isActive(server, resourceServer, token)).toBe(false)
    })

    test('opening it any number of times changes nothing (mail scanners)', async () => {
      const url = await newLink()
      for (const browser of [server.newBrowser(), server.newBrowser(), server.newBrowser()]) {
        expect((await browser.open(url)).statusCode).toBe(200)
      }
      expect(await storedLinks()).toHaveLength(1)
      expect(await signIn(PASSWORD)).toBe(303)
    })

    test('can be used once, also by two requests at the same time', async () => {
      const url = await newLink()
      const opened = [await openLink(url), await openLink(url)]
      const pages = await Promise.all(
        opened.map(({ browser, page }, index) => browser.submit(page, { new_password: `${NEW_PASSWORD} ${index}` }))
      )
      expect(pages.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 404])
      expect(await storedLinks()).toEqual([])
    })

    test('a bad password names the rule and does not use the link up', async () => {
      const { browser, page } = await openLink(await newLink())
      const refused = await browser.submit(page, { new_password: 'too short' })
      expect([refused.statusCode, visibleText(refused.body)]).toEqual([422, expect.stringContaining('at least 15')])
      expect((await browser.submit(refused, { new_password: NEW_PASSWORD })).statusCode).toBe(200)
    })

    test('gives a fresh session of the way "link"', async () => {
      const { browser, page } = await openLink(await newLink())
      await browser.submit(page, { new_password: NEW_PASSWORD })
      expect(visibleText((await browser.open(`${ISSUER}/account/sessions`)).body)).toContain('Link from the operator')
      // A fresh sign-in needs no current password.
      expect((await browser.open(`${ISSUER}/account/password`)).body).not.toContain('current_password')
    })
  })

  describe('links that cannot be used look alike', () => {
    const expire = () =>
      server.database.query({
        name: '',
        text: 'update account_links set expires_at = now() where user_id = $1',
        values: [userId]
      })

    test.each([
      { name: 'unknown', spoil: async () => `${ISSUER}/account-link?token=${'A'.repeat(43)}` },
      { name: 'malformed', spoil: async () => `${ISSUER}/account-link?token=x` },
      { name: 'missing', spoil: async () => `${ISSUER}/account-link` },
      {
        name: 'used',
        spoil: async (url: string) => {
          const { browser, page } = await openLink(url)
          await browser.submit(page, { new_password: NEW_PASSWORD })
          return url
        }
      },
      {
        name: 'expired',
        spoil: async (url: string) => {
          await expire()
          return url
        }
      },
      {
        name: 'replaced by a newer one',
        spoil: async (url: string) => {
          await newLink('invitation')
          return url
        }
      },
      {
        name: 'of a disabled user',
        spoil: async (url: string) => {
          await disable(server, 'user', userId)
          return url
        }
      },
      {
        name: 'of a user who was disabled and enabled again',
        spoil: async (url: string) => {
          for (const change of [disableUser, enableUser]) await change(userId, author, server.deps.admin.users)
          return url
        }
      },
      {
        name: 'of a user whose password an operator has set',
        spoil: async (url: string) => {
          await setPassword({ userId, password: NEW_PASSWORD }, author, server.deps.admin.users)
          return url
        }
      }
    ])('$name', async ({ spoil }) => {
      const { page } = await openLink(await spoil(await newLink()))
      const unknown = await server.newBrowser().open(`${ISSUER}/account-link?token=${'B'.repeat(43)}`)
      expect(page.statusCode).toBe(404)
      expect(page.body).toBe(unknown.body)
    })

    test('a link that expires while its page is open sets no password', async () => {
      const { browser, page } = await openLink(await newLink())
      await expire()
      expect((await browser.submit(page, { new_password: NEW_PASSWORD })).statusCode).toBe(404)
      expect(await signIn(PASSWORD)).toBe(303)
    })

    test('100 unknown links from one address get the page, then 429 with Retry-After', async () => {
      const open = async (browser: Browser) => (await browser.get(`${ISSUER}/account-link`)).statusCode
      const [guessing, empty] = [server.newBrowser(), server.newBrowser()]
      guessing.cookies.set(COOKIES.accountLink, 'A'.repeat(43))
      const statuses = new Set<number>()
      // A missing token does not count.
      for (let attempt = 0; attempt < 100; attempt++) statuses.add(await open(guessing)).add(await open(empty))
      expect([...statuses]).toEqual([404])
      const limited = await server.newBrowser().open(await newLink())
      expect([limited.statusCode, Number(limited.headers['retry-after'])]).toEqual([429, expect.any(Number)])
      expect(visibleText(limited.body)).toMatch(/Too many attempts .*Try again in 15 minutes/)
    })

    test('a link that waits too long for other links gets a page with 429 and Retry-After, and stays valid', async () => {
      const url = await newLink()
      const { limiter } = server.deps.login
      const { attempt } = limiter
      limiter.attempt = async () => Promise.reject(new TooManyAttempts(5, 'too_many_at_once'))
      const { page } = await openLink(url)
      limiter.attempt = attempt
      expect([page.statusCode, page.headers['retry-after']]).toEqual([429, '5'])
      expect(visibleText(page.body)).toMatch(/Too many requests at once .*Wait a few seconds/)
      expect((await openLink(url)).page.statusCode).toBe(200)
    })
  })

  describe('secrecy of the token', () => {
    test('the link redirects to an address without token, with no-referrer and no-store', async () => {
      const browser = server.newBrowser()
      const redirect = await browser.get(await newLink())
      expect([redirect.statusCode, redirect.headers.location]).toEqual([303, `${ISSUER}/account-link`])
      expect(redirect.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
      expect(redirect.cookies.find(({ name }) => name === COOKIES.accountLink)).toMatchObject({
        httpOnly: true,
        sameSite: 'Lax'
      })
      const page = await browser.open(`${ISSUER}/account-link`)
      expect(page.headers['cache-control']).toBe('no-store')
      expect(addressesOn(page.body).filter((address) => address.includes('token'))).toEqual([])
    })

    test('no log line has it', async () => {
      const url = await newLink()
      const { browser, page } = await openLink(url)
      await browser.submit(page, { new_password: NEW_PASSWORD })
      await openLink(url)
      const token = new URL(url).searchParams.get('token') ?? ''
      expect(lines.length).toBeGreaterThan(0)
      expect(JSON.stringify(lines)).not.toContain(token)
    })

    test('a form of another site is refused and does not use the link up', async () => {
      const { browser, page } = await openLink(await newLink())
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      expect((await browser.submitOnly(page, { new_password: NEW_PASSWORD }, headers)).statusCode).toBe(403)
      expect(await storedLinks()).toHaveLength(1)
    })
  })
})

describe('the form of an account link', () => {
  let server: TestServer
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    server = await startTestServer()
  })
  beforeEach(async () => {
    count += 1
    username = `alice ${count}`
    const userId = await server.createUser(username, PASSWORD)
    browser = server.newBrowser()
    page = await browser.open(await newAccountLink(server, userId, 'password_reset'))
  })
  afterAll(() => server.close())

  test('sent twice at once by one browser sets one password, and the other page leads to the sign-in', async () => {
    const pages = await Promise.all([1, 2].map(() => browser.submit(page, { new_password: NEW_PASSWORD })))
    expect(pages.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 404])
    const refused = pages.find(({ statusCode }) => statusCode === 404)
    expect(visibleText(refused?.body ?? '')).toContain('If you have just used this link, sign in.')
    expect(addressesOn(refused?.body ?? '')).toContain(`${ISSUER}/login`)
    expect((await browser.open(`${ISSUER}/login`)).url).toBe(`${ISSUER}/account/apps`)
  })

  test('sent again after Back leads to the account', async () => {
    await browser.submit(page, { new_password: NEW_PASSWORD })
    const again = await browser.submit(page, { new_password: NEW_PASSWORD })
    expect([again.statusCode, again.url]).toEqual([200, `${ISSUER}/account/apps`])
  })

  test('sent after another user has signed in shows its form again, because it was not used', async () => {
    await server.createUser(`${username} too`, PASSWORD)
    await browser.submit(await browser.open(`${ISSUER}/login`), { username: `${username} too`, password: PASSWORD })
    const again = await browser.submit(page, { new_password: NEW_PASSWORD })
    expect(again.url).toBe(`${ISSUER}/account-link`)
    expect((await browser.submit(again, { new_password: NEW_PASSWORD })).url).toBe(`${ISSUER}/account/apps`)
  })
})

describe('invitation', () => {
  test('an invitation offers a password and each provider, with the token for that provider', async () => {
    const providers = [
      { id: 'acme', label: 'Acme', issuer: 'https://id.example', client_id: 'x', client_secret: 'y'.repeat(32) }
    ]
    const server = await startTestServer({ SIGN_IN_PROVIDERS: JSON.stringify(providers) })
    try {
      const invited = await server.createUser('bob', PASSWORD)
      const url = await newAccountLink(server, invited, 'invitation')
      const page = await server.newBrowser().open(url)
      const token = new URL(url).searchParams.get('token')
      expect(page.body).toContain('name="new_password"')
      const link = `${ISSUER}/login/with/acme?purpose&#x3D;invitation&amp;token&#x3D;${token}`
      expect(addressesOn(page.body)).toContain(link)
    } finally {
      await server.close()
    }
  })
})
