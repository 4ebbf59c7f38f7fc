import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { dumpRedis } from '../../support/dump-stores.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField } from '../../support/page-content.js'
import { openConsent, signedInBrowser } from '../../support/pages.js'
import { deleteRow, disable, enable } from '../../support/tokens.js'

const clock = stopClock()

afterAll(() => clock.restart())

describe('sessions', () => {
  const RANDOM_ID = /^[\w-]{43}$/
  let server: TestServer
  let client: Credentials
  let userId: string

  beforeAll(async () => {
    server = await startTestServer()
    userId = await server.createUser('alice', PASSWORD)
    await server.createUser('bob', PASSWORD)
    client = await server.createClient()
  })
  afterEach(() => enable(server, 'user', userId))
  afterAll(async () => {
    await server.close()
  })

  const sessionOf = (browser: Browser) => browser.cookies.get('vk_session') ?? ''
  const keyOf = (sessionId: string) => `vk:session:${createHash('sha256').update(sessionId).digest('base64url')}`

  async function isSignedIn(browser: Browser): Promise<boolean> {
    return (await browser.open(`${ISSUER}/login`)).body.includes('You are signed in')
  }

  function withSession(sessionId: string): Browser {
    const browser = server.newBrowser()
    browser.cookies.set('vk_session', sessionId)
    return browser
  }

  describe('sign-in creates a new session id, and an earlier id is invalid (session fixation)', () => {
    test.each([
      { name: 'a well-formed id', planted: async () => 'P'.repeat(43) },
      {
        name: 'an id of a session that was signed out',
        planted: async () => {
          const browser = await signedInBrowser(server, 'bob')
          const sessionId = sessionOf(browser)
          await browser.submit(await browser.open(`${ISSUER}/login`), {})
          return sessionId
        }
      },
      { name: 'an id that is too long', planted: async () => 'P'.repeat(5000) },
      { name: 'a malformed id', planted: async () => '__proto__' }
    ])('$name, set before sign-in', async ({ planted }) => {
      const sessionId = await planted()
      const browser = withSession(sessionId)
      await browser.submit(await browser.open(authorizeUrl(client.clientId)), { username: 'alice', password: PASSWORD })
      expect(sessionOf(browser)).toMatch(RANDOM_ID)
      expect(sessionOf(browser)).not.toBe(sessionId)
      expect(await isSignedIn(browser)).toBe(true)
      expect(await isSignedIn(withSession(sessionId))).toBe(false)
    })

    test('two sign-ins get two ids', async () => {
      const ids = [await signedInBrowser(server), await signedInBrowser(server)].map(sessionOf)
      expect(new Set(ids).size).toBe(2)
    })

    test('a sign-in within a session ends that session', async () => {
      const browser = await signedInBrowser(server, 'bob')
      const before = sessionOf(browser)
      const page = await browser.open(authorizeUrl(client.clientId, { prompt: 'login' }))
      await browser.submit(page, { username: 'alice', password: PASSWORD })
      expect(await server.redis.exists(keyOf(before))).toBe(0)
      expect(await isSignedIn(withSession(before))).toBe(false)
    })

    test('a failed sign-in opens no session', async () => {
      const before = await server.redis.keys('vk:session:*')
      const browser = server.newBrowser()
      const page = await browser.open(`${ISSUER}/login`)
      await browser.submit(page, { username: 'alice', password: 'wrong' })
      expect((await server.redis.keys('vk:session:*')).length).toBe(before.length)
      expect(sessionOf(browser)).toBe('')
    })
  })

  describe('records in the store', () => {
    test('contain hashes of session, browser and request ids, and no query, name, password or CSRF token', async () => {
      const { browser, page } = await openConsent(server, client.clientId, { change: { state: 'a-state-of-its-own' } })
      const resume = new URL(page.url).searchParams.get('resume') ?? ''
      const token = hiddenField(page.body, 'csrf_token')
      const secrets = [
        sessionOf(browser),
        browser.cookies.get('vk_browser'),
        browser.cookies.get('vk_known'),
        resume,
        token
      ]
      const stored = await dumpRedis(server)
      expect(stored).toContain(keyOf(sessionOf(browser)))
      for (const secret of [...secrets, PASSWORD, 'alice', 'a-state-of-its-own', client.clientId])
        expect(stored).not.toContain(secret)
      const answer = await browser.submitOnly(page, { decision: 'allow' })
      const code = new URL(String(answer.headers.location)).searchParams.get('code') ?? 'none'
      expect(await dumpRedis(server)).not.toContain(code)
      expect(await dumpRedis(server)).not.toContain(code.slice(6, -6))
    })

    test('the stored hash of a session is not a valid session id', async () => {
      const browser = await signedInBrowser(server)
      const hash = keyOf(sessionOf(browser)).slice('vk:session:'.length)
      expect(await isSignedIn(withSession(hash))).toBe(false)
    })
  })

  describe('a session ends', () => {
    test('by signing out, for every copy of its cookie', async () => {
      const browser = await signedInBrowser(server)
      const copy = withSession(sessionOf(browser))
      expect(await isSignedIn(copy)).toBe(true)
      const answer = await browser.submitOnly(await browser.open(`${ISSUER}/login`), {})
      expect(answer.headers['set-cookie']).toMatch(
        /^vk_session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax$/
      )
      expect(await isSignedIn(copy)).toBe(false)
      expect(await isSignedIn(browser)).toBe(false)
    })

    test('signing out does not end sessions of other browsers', async () => {
      const [one, two] = [await signedInBrowser(server), await signedInBrowser(server)]
      await one.submit(await one.open(`${ISSUER}/login`), {})
      expect(await isSignedIn(two)).toBe(true)
    })

    test('if its sign-in time is in the future, because a process had a wrong clock', async () => {
      const browser = await signedInBrowser(server)
      clock.advance(-2 * 60)
      expect(await isSignedIn(browser)).toBe(false)
      clock.advance(2 * 60)
      expect(await isSignedIn(browser)).toBe(true)
    })

    test('when its user is disabled, also after the user is enabled again', async () => {
      const browser = await signedInBrowser(server)
      await disable(server, 'user', userId)
      expect(await isSignedIn(browser)).toBe(false)
      await enable(server, 'user', userId)
      expect(await isSignedIn(browser)).toBe(false)
    })

    test('when its user’s generation is raised, as a new password does', async () => {
      const [browser, bob] = [await signedInBrowser(server), await signedInBrowser(server, 'bob')]
      const text = 'update users set generation = generation + 1 where user_id = $1'
      await server.database.query({ name: 'move_generation', text, values: [userId] })
      expect(await isSignedIn(browser)).toBe(false)
      expect(await isSignedIn(bob)).toBe(true)
      expect(await isSignedIn(await signedInBrowser(server))).toBe(true)
    })

    test('while its user is disabled without a new generation', async () => {
      const browser = await signedInBrowser(server)
      const text = 'update users set disabled_at = now() where user_id = $1'
      await server.database.query({ name: 'only_disable', text, values: [userId] })
      expect(await isSignedIn(browser)).toBe(false)
    })

    test('when its user is deleted', async () => {
      const carolId = await server.createUser('carol', PASSWORD)
      const browser = await signedInBrowser(server, 'carol')
      await deleteRow(server, 'user', carolId)
      expect(await isSignedIn(browser)).toBe(false)
    })
  })
})

describe('cookies of a session', () => {
  const cookiesOf = (answer: LightMyRequestResponse): string[] => [answer.headers['set-cookie'] ?? []].flat()

  /** With https the names begin with __Host-, which browsers accept only with Secure, Path=/ and without Domain. */
  const ISSUERS = [
    { issuer: 'http://localhost:4000', prefix: '', secure: '' },
    { issuer: 'http://127.0.0.1:4000', prefix: '', secure: '' },
    { issuer: 'https://auth.example', prefix: '__Host-', secure: ' Secure;' },
    { issuer: 'https://example.com/auth', prefix: '__Host-', secure: ' Secure;' }
  ]

  describe.each(ISSUERS)('cookies of $issuer', ({ issuer, prefix, secure }) => {
    let server: TestServer
    let client: Credentials

    beforeAll(async () => {
      server = await startTestServer({ ISSUER: issuer })
      await server.createUser('alice', PASSWORD)
      client = await server.createClient()
    })
    afterAll(() => server.close())

    const authorize = () => {
      const redirectUri = encodeURIComponent('https://app.example/callback')
      return `${issuer}/oauth/authorize?response_type=code&client_id=${client.clientId}&redirect_uri=${redirectUri}&scope=files.read`
    }

    test('are HttpOnly, SameSite=Lax and for the whole host; only known accounts and the last way to sign in outlive the browser', async () => {
      const browser = server.newBrowser()
      const first = await browser.get(authorize())
      const attributes = `Path=/; HttpOnly;${secure} SameSite=Lax`
      const value = '[\\w-]{43}'
      expect(cookiesOf(first)).toEqual([expect.stringMatching(`^${prefix}vk_browser=${value}; ${attributes}$`)])
      const login = await browser.open(String(first.headers.location))
      expect(cookiesOf(login)).toEqual([])
      const answer = await browser.submitOnly(login, { username: 'alice', password: PASSWORD })
      expect(cookiesOf(answer)).toEqual([
        expect.stringMatching(`^${prefix}vk_known=${value}; Max-Age=31536000; ${attributes}$`),
        expect.stringMatching(`^${prefix}vk_session=${value}; ${attributes}$`),
        `${prefix}vk_way=local; Max-Age=31536000; ${attributes}`
      ])
      expect(answer.body).toBe('')
    })

    test('work from the request to the code, and every address is below the issuer', async () => {
      const browser = server.newBrowser()
      const login = await browser.open(authorize())
      expect(login.url.startsWith(`${issuer}/login?`)).toBe(true)
      const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
      expect(consent.url.startsWith(`${issuer}/consent?`)).toBe(true)
      const answer = await browser.submitOnly(consent, { decision: 'allow' })
      expect(responseParameters(answer)).toMatchObject({ code: expect.any(String), iss: issuer })
      expect(cookiesOf(answer)).toEqual([])
      const addresses = [login.body, consent.body].flatMap((body) => body.match(/(?:href|action)="[^"]*/g) ?? [])
      expect(addresses.length).toBeGreaterThan(6)
      for (const address of addresses) expect(address.replace(/^\w+="/, '').startsWith(`${issuer}/`)).toBe(true)
    })

    test.each([
      { name: 'empty', value: '' },
      { name: 'too short', value: 'B'.repeat(42) },
      { name: 'too long by one', value: 'B'.repeat(44) },
      { name: 'much too long', value: 'B'.repeat(4000) },
      { name: 'of another alphabet', value: `${'B'.repeat(42)}.` },
      { name: 'the name of an object', value: '__proto__' }
    ])('an invalid browser id ($name) is replaced', async ({ value }) => {
      const browser = server.newBrowser()
      browser.cookies.set(`${prefix}vk_browser`, value)
      await browser.open(`${issuer}/login`)
      const given = browser.cookies.get(`${prefix}vk_browser`)
      expect(given).toMatch(/^[\w-]{43}$/)
      await browser.open(`${issuer}/login`)
      expect(browser.cookies.get(`${prefix}vk_browser`)).toBe(given)
    })

    test('are read under their own name only', async () => {
      const browser = server.newBrowser()
      await browser.submit(await browser.open(`${issuer}/login`), { username: 'alice', password: PASSWORD })
      const sessionId = browser.cookies.get(`${prefix}vk_session`) ?? ''
      const names = ['vk_session', '__Host-vk_session', '__Secure-vk_session', '__host-vk_session', 'VK_SESSION']
      const seen = []
      for (const name of names) {
        const other = server.newBrowser()
        other.cookies.set(name, sessionId)
        if ((await other.open(`${issuer}/login`)).body.includes('You are signed in')) seen.push(name)
      }
      expect(seen).toEqual([`${prefix}vk_session`])
    })
  })
})
