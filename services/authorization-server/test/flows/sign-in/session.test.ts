import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { dumpPostgres, dumpRedis } from '../../support/dump-stores.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { hiddenField } from '../../support/page-content.js'
import { openConsent, signedInBrowser } from '../../support/pages.js'
import { countSessions, sessionHashOf } from '../../support/sessions.js'
import { deleteRow, disable, enable } from '../../support/tokens.js'

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

  const sessionOf = (browser: Browser) => browser.cookies.get(COOKIES.session) ?? ''

  async function isSignedIn(browser: Browser): Promise<boolean> {
    return (await browser.open(`${ISSUER}/login`)).body.includes('You are signed in')
  }

  function withSession(sessionId: string): Browser {
    const browser = server.newBrowser()
    browser.cookies.set(COOKIES.session, sessionId)
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
      const [before, storedBefore] = [sessionOf(browser), await countSessions(server)]
      const page = await browser.open(authorizeUrl(client.clientId, { prompt: 'login' }))
      await browser.submit(page, { username: 'alice', password: PASSWORD })
      expect(await countSessions(server)).toBe(storedBefore)
      expect(await isSignedIn(withSession(before))).toBe(false)
    })

    test('a failed sign-in opens no session', async () => {
      const before = await countSessions(server)
      const browser = server.newBrowser()
      const page = await browser.open(`${ISSUER}/login`)
      await browser.submit(page, { username: 'alice', password: 'wrong' })
      expect(await countSessions(server)).toBe(before)
      expect(sessionOf(browser)).toBe('')
    })
  })

  describe('records in the stores', () => {
    test('contain hashes of session, browser and request ids, and no query, name, password or CSRF token', async () => {
      const { browser, page } = await openConsent(server, client.clientId, { change: { state: 'a-state-of-its-own' } })
      const resume = new URL(page.url).searchParams.get('resume') ?? ''
      const token = hiddenField(page.body, 'csrf_token')
      const secrets = [
        sessionOf(browser),
        browser.cookies.get(COOKIES.browser),
        browser.cookies.get(COOKIES.knownAccounts),
        resume,
        token
      ]
      const stored = await dumpRedis(server)
      const { sessions = '' } = await dumpPostgres(server)
      expect(sessions).toContain(Buffer.from(sessionHashOf(browser), 'base64url').toString('hex'))
      for (const secret of [...secrets, PASSWORD, 'alice', 'a-state-of-its-own', client.clientId])
        expect(stored + sessions).not.toContain(secret)
      const answer = await browser.submitOnly(page, { decision: 'allow' })
      const code = new URL(String(answer.headers.location)).searchParams.get('code') ?? 'none'
      expect(await dumpRedis(server)).not.toContain(code)
      expect(await dumpRedis(server)).not.toContain(code.slice(6, -6))
    })

    test('the stored hash of a session is not a valid session id', async () => {
      const browser = await signedInBrowser(server)
      expect(await isSignedIn(withSession(sessionHashOf(browser)))).toBe(false)
    })
  })

  describe('a session ends', () => {
    test('by signing out, for every copy of its cookie', async () => {
      const browser = await signedInBrowser(server)
      const copy = withSession(sessionOf(browser))
      expect(await isSignedIn(copy)).toBe(true)
      const answer = await browser.submitOnly(await browser.open(`${ISSUER}/login`), {})
      expect(answer.headers['set-cookie']).toMatch(
        /^vk_session_[0-9a-f]{8}=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax$/
      )
      expect(await isSignedIn(copy)).toBe(false)
      expect(await isSignedIn(browser)).toBe(false)
    })

    test('signing out does not end sessions of other browsers', async () => {
      const [one, two] = [await signedInBrowser(server), await signedInBrowser(server)]
      await one.submit(await one.open(`${ISSUER}/login`), {})
      expect(await isSignedIn(two)).toBe(true)
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
