import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { wayCookieValue } from '../../../src/browser/login/sign-in-ways.js'
import { signInAddressLimit } from '../../../src/platform/rate-limits/rules.js'
import { collectAuditLog } from '../../support/audit-log.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { clearCounters, setCounter } from '../../support/counters.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { deleteRow, disable, enable } from '../../support/tokens.js'
import { optionsOn, sendPasskey, signInWithPasskey, userWithPasskey } from './support/passkeys.js'
import {
  createSoftwareAuthenticator,
  FLAGS,
  type Forgery,
  type SoftwareAuthenticator
} from './support/software-authenticator.js'

const clock = stopClock()

afterAll(() => clock.restart())

describe('sign-in with a passkey', () => {
  const { logger, eventsOf } = collectAuditLog()
  let server: TestServer
  let client: Credentials
  let aliceId: string
  let alice: SoftwareAuthenticator

  beforeAll(async () => {
    server = await startTestServer({ LOG_LEVEL: 'info' }, logger)
    aliceId = await server.createUser('alice', PASSWORD)
    client = await server.createClient()
    alice = (await userWithPasskey(server)).authenticator
  })
  afterAll(async () => {
    await server.close()
  })

  const openSignIn = async (browser: Browser = server.newBrowser()) => ({
    browser,
    page: await browser.open(`${ISSUER}/login`)
  })

  async function usernameIn(browser: Browser): Promise<string | undefined> {
    const { body } = await browser.open(`${ISSUER}/account/apps`)
    return /signed in as (?:<[^>]+>)*([\w-]+)/.exec(body)?.[1]
  }

  /** A refusal shows the sign-in page with the same text for each reason, and opens no session. */
  function expectRefusal(page: Page, reason: string): void {
    expect(page.statusCode).toBe(422)
    expect(visibleText(page.body)).toContain('The passkey was not accepted. Try again')
    expect(page.cookies).toEqual([])
    expect(eventsOf(page)).toMatchObject([{ event: 'sign_in_failed', reason }])
  }

  describe('sign-in with a passkey (WebAuthn Level 3 §7.2)', () => {
    test('signs the user in without a user name', async () => {
      const browser = server.newBrowser()
      const { page } = await openSignIn(browser)
      expect(optionsOn(page)).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
      expect(optionsOn(page)).not.toHaveProperty('allowCredentials')
      const signedIn = await sendPasskey(browser, page, alice.get(optionsOn(page)))
      expect(signedIn.url).toBe(`${ISSUER}/account/apps`)
      expect(await usernameIn(browser)).toBe('alice')
    })

    test('continues with the authorization request of the page', async () => {
      const browser = server.newBrowser()
      const page = await signInWithPasskey(browser, alice, {}, authorizeUrl(client.clientId))
      expect(visibleText(page.body)).toContain('Signed in as alice Use another account')
    })

    test('counts as a new sign-in, for a change of the account', async () => {
      const browser = server.newBrowser()
      await signInWithPasskey(browser, alice)
      clock.advance(301)
      const page = await signInWithPasskey(browser, alice, {}, `${ISSUER}/login?page=passkeys`)
      expect(page.url).toBe(`${ISSUER}/account/passkeys`)
      expect(page.body).toContain('data-passkey="add"')
    })

    test('the response to a challenge of the page before the password was tried is still accepted', async () => {
      const { browser, page } = await openSignIn()
      await browser.submit(page, { username: 'alice', password: 'wrong' })
      await sendPasskey(browser, page, alice.get(optionsOn(page)))
      expect(await usernameIn(browser)).toBe('alice')
    })
  })

  describe('refuses', () => {
    test.each<{ name: string; forged: Forgery }>([
      { name: 'another origin', forged: { origin: 'https://evil.example' } },
      { name: 'another port', forged: { origin: 'http://localhost:4001' } },
      { name: 'the https origin of the same host', forged: { origin: 'https://localhost:4000' } },
      { name: 'another relying party', forged: { rpId: 'evil.example' } },
      { name: 'no user verification', forged: { flags: FLAGS.userPresent } },
      { name: 'no user presence', forged: { flags: FLAGS.userVerified } },
      { name: 'the type of a registration', forged: { type: 'webauthn.create' } },
      { name: 'an invented challenge', forged: { challenge: 'A'.repeat(72) } },
      { name: 'no user handle', forged: { userHandle: undefined } },
      { name: 'the user handle of another user', forged: { userHandle: Buffer.alloc(32, 1).toString('base64url') } }
    ])('$name', async ({ forged }) => {
      const browser = server.newBrowser()
      expectRefusal(await signInWithPasskey(browser, alice, forged), 'invalid_passkey')
      expect(await usernameIn(browser)).toBeUndefined()
    })

    test('a challenge of another browser', async () => {
      const { page } = await openSignIn()
      const other = await openSignIn()
      expectRefusal(await sendPasskey(other.browser, other.page, alice.get(optionsOn(page))), 'invalid_passkey')
    })

    test('a challenge of the page that adds a passkey', async () => {
      const { browser } = await userWithPasskey(server)
      const add = await browser.open(`${ISSUER}/account/passkeys`)
      const { challenge } = optionsOn(add)
      browser.cookies.delete(COOKIES.session)
      expectRefusal(await signInWithPasskey(browser, alice, { challenge }), 'invalid_passkey')
    })

    test('a challenge after five minutes, of another browser', async () => {
      const { page } = await openSignIn()
      const other = await openSignIn()
      clock.advance(300)
      expectRefusal(await sendPasskey(other.browser, other.page, alice.get(optionsOn(page))), 'invalid_passkey')
    })

    test('a replayed response, also in the same browser', async () => {
      const { browser, page } = await openSignIn()
      const response = alice.get(optionsOn(page))
      const copy = server.newBrowser()
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
      await sendPasskey(browser, page, response)
      expect(await usernameIn(browser)).toBe('alice')
      expectRefusal(await sendPasskey(copy, page, response), 'invalid_passkey')
    })

    test('all but one of ten concurrent requests with the same response', async () => {
      const { browser, page } = await openSignIn()
      const response = alice.get(optionsOn(page))
      const copies = Array.from({ length: 10 }, () => {
        const copy = server.newBrowser()
        for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
        return copy
      })
      const answers = await Promise.all(copies.map((copy) => sendPasskey(copy, page, response)))
      expect(answers.filter(({ statusCode }) => statusCode !== 422)).toHaveLength(1)
    })

    test('a counter that does not rise: the passkey may have been cloned (WebAuthn §6.1.1)', async () => {
      const { authenticator } = await userWithPasskey(server)
      await signInWithPasskey(server.newBrowser(), authenticator, { counter: 50 })
      for (const counter of [50, 49, 0]) {
        expectRefusal(await signInWithPasskey(server.newBrowser(), authenticator, { counter }), 'cloned_passkey')
      }
      const browser = server.newBrowser()
      await signInWithPasskey(browser, authenticator, { counter: 51 })
      expect(await usernameIn(browser)).toBe('alice')
    })

    test('not a counter of 0 before and after: a synced passkey has none', async () => {
      const { browser, page } = await openSignIn()
      await server.createUser('synced', PASSWORD)
      const { authenticator } = await userWithPasskey(server, 'synced')
      await server.database.query({ name: 'test_no_counter', text: 'update passkeys set counter = 0', values: [] })
      await sendPasskey(browser, page, authenticator.get(optionsOn(page), { counter: 0 }))
      expect(await usernameIn(browser)).toBe('synced')
    })

    test('the key of another passkey under its id', async () => {
      const { browser, page } = await openSignIn()
      const { userHandle } = JSON.parse(alice.get(optionsOn(page))).response
      const stranger = JSON.parse(createSoftwareAuthenticator().get(optionsOn(page), { userHandle }))
      const forged = JSON.stringify({ ...stranger, id: alice.id, rawId: alice.id })
      expectRefusal(await sendPasskey(browser, page, forged), 'invalid_passkey')
    })

    test('an unknown passkey', async () => {
      const { browser, page } = await openSignIn()
      const response = createSoftwareAuthenticator().get(optionsOn(page), { userHandle: 'AA' })
      expectRefusal(await sendPasskey(browser, page, response), 'unknown_passkey')
    })

    test.each(['', '{', 'null', '[]', '{"id":1}', '{"id":"a\\u0000","response":{}}', '{"id":"aa","response":null}'])(
      'what is no response: %s',
      async (response) => {
        const { browser, page } = await openSignIn()
        expectRefusal(await sendPasskey(browser, page, response), 'invalid_passkey')
      }
    )

    test('members of a wrong type', async () => {
      const { browser, page } = await openSignIn()
      const { id, rawId, type } = JSON.parse(alice.get(optionsOn(page)))
      const response = { clientDataJSON: 1, authenticatorData: {}, signature: [], userHandle: null }
      expectRefusal(await sendPasskey(browser, page, JSON.stringify({ id, rawId, type, response })), 'invalid_passkey')
    })

    test('a disabled user', async () => {
      await disable(server, 'user', aliceId)
      expectRefusal(await signInWithPasskey(server.newBrowser(), alice), 'disabled_user')
      await enable(server, 'user', aliceId)
    })

    test('a deleted user', async () => {
      const carolId = await server.createUser('carol', PASSWORD)
      const { authenticator } = await userWithPasskey(server, 'carol')
      await deleteRow(server, 'user', carolId)
      expectRefusal(await signInWithPasskey(server.newBrowser(), authenticator), 'unknown_passkey')
    })

    test('a form of another site', async () => {
      const { browser, page } = await openSignIn()
      const form = { response: alice.get(optionsOn(page)) }
      const sent = await browser.submitOnly(
        { ...page, body: page.body.slice(page.body.indexOf('class="passkey"') - 10) },
        form,
        {
          origin: 'https://evil.example'
        }
      )
      expect(sent.statusCode).toBe(403)
    })
  })

  describe('limits', () => {
    test('a failure counts for the address, like a wrong password; a success does not', async () => {
      const limit = signInAddressLimit('127.0.0.1')
      await clearCounters(server)
      await setCounter(server, limit, 98)
      await signInWithPasskey(server.newBrowser(), alice)
      expectRefusal(
        await signInWithPasskey(server.newBrowser(), alice, { origin: 'https://evil.example' }),
        'invalid_passkey'
      )
      await signInWithPasskey(server.newBrowser(), alice, { origin: 'https://evil.example' })
      const refused = await signInWithPasskey(server.newBrowser(), alice)
      expect(refused.statusCode).toBe(429)
      expect(refused.headers).toHaveProperty('retry-after')
      await clearCounters(server)
    })
  })
})

describe('passkeys are switched off', () => {
  function provider(): Record<string, string> {
    const element = {
      id: 'idp',
      label: 'IdP',
      issuer: 'https://idp.example',
      client_id: 'vk',
      client_secret: 'x'.repeat(32)
    }
    return { SIGN_IN_PROVIDERS: JSON.stringify([element]) }
  }

  test.each([
    {
      name: 'on an issuer with an IP address',
      settings: { ISSUER: 'http://127.0.0.1:4000' },
      scripts: ['show-password.js', 'busy-button.js']
    },
    { name: 'without local accounts', settings: { ...provider(), LOCAL_SIGN_IN: 'false' }, scripts: [] }
  ])('$name, and no page mentions them', async ({ settings, scripts }) => {
    const other = await startTestServer(settings)
    try {
      const { issuer } = other.config
      const browser = other.newBrowser()
      const page = await browser.get(`${issuer}/login?done=signed_out`)
      expect(page.statusCode).toBe(200)
      expect(page.body).not.toMatch(/passkey|webauthn/i)
      expect([...page.body.matchAll(/<script src="[^"]*\/([^"/]+)"/g)].map(([, name]) => name)).toEqual(scripts)
      expect(page.body.match(/<script/g) ?? []).toHaveLength(scripts.length)
      const allowsScripts = String(page.headers['content-security-policy']).includes('script-src')
      expect(allowsScripts).toBe(scripts.length > 0)
    } finally {
      await other.close()
    }
  })
})

test('the cookie of the last way names no passkey', () => {
  expect(wayCookieValue({ kind: 'passkey' })).toBe('local')
})
