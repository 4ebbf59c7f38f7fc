import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { hashId } from '../../../../../src/browser/session/random-id.js'
import { createIdentityStore } from '../../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { createUserStore } from '../../../../../src/storage/postgres/users.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../../../support/authorization-server.js'
import type { Browser, Page } from '../../../../support/browser.js'
import { stopClock } from '../../../../support/clock.js'
import { deleteKeys } from '../../../../support/delete-keys.js'
import { startExampleLoginPage } from '../../../../support/example-login-page.js'
import { authorizeUrl, PASSWORD } from '../../../../support/flow.js'
import {
  callbackUrl,
  HANDOFF,
  insertIdentity,
  LOGIN_ISSUER,
  LOGIN_PAGE,
  passHandoff,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../../../support/handoff.js'
import { collectLog } from '../../../../support/log-lines.js'
import { signOut } from '../../../../support/pages.js'
import { countSessions } from '../../../../support/sessions.js'

describe('handoff', () => {
  let server: TestServer
  let client: Credentials
  let number = 0
  let subject: string
  let username: string

  beforeAll(async () => {
    server = await startTestServer({ ...HANDOFF, LOCAL_SIGN_IN: 'false' })
    client = await server.createClient()
  })
  afterAll(() => server.close())

  async function newPerson(): Promise<void> {
    number += 1
    subject = `person-${number}`
    username = `user-${number}`
    await insertIdentity(server, await server.createUser(username, PASSWORD), subject)
  }

  describe('the hand-off to a login page', () => {
    test('is the only way, so an app leads straight to it, and from it to the consent page', async () => {
      await newPerson()
      const browser = server.newBrowser()
      const loginPage = await startHandoff(browser, authorizeUrl(client.clientId))
      expect(loginPage.origin + loginPage.pathname).toBe(LOGIN_PAGE)
      expect([...loginPage.searchParams.keys()]).toEqual(['request'])
      const page = await browser.open(callbackUrl(await signAssertion({ nonce: requestIdOf(loginPage), sub: subject })))
      expect(page.body).toContain(username)
      const answer = await browser.submitOnly(page, { decision: 'allow' })
      expect(answer.headers.location).toMatch(`${REDIRECT_URI}?`)
    })

    test('leads without an app to the account', async () => {
      await newPerson()
      const page = await passHandoff(server.newBrowser(), { sub: subject })
      expect(page.url).toBe(`${ISSUER}/account/apps`)
      expect(page.body).toContain(username)
    })

    test('stores the display name without control characters, and notes the sign-in', async () => {
      await newPerson()
      await passHandoff(server.newBrowser(), { sub: subject, name: 'Alice\u202e Example\n' })
      const user = await createUserStore(server.database).findById((await findUser())?.userId ?? '')
      expect(user).toMatchObject({ displayName: 'Alice Example', lastSignedInAt: expect.any(Date) })
    })

    const findUser = () => createIdentityStore(server.database).findUser({ issuer: LOGIN_ISSUER, subject })

    test('responds with a redirect that tells other sites nothing, and whose address has no assertion', async () => {
      await newPerson()
      const browser = server.newBrowser()
      const nonce = requestIdOf(await startHandoff(browser))
      const answer = await browser.get(callbackUrl(await signAssertion({ nonce, sub: subject })))
      expect(answer.statusCode).toBe(303)
      expect(answer.headers).toMatchObject({
        location: `${ISSUER}/account/apps`,
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store'
      })
    })

    test('is sent twice, for example by a double click: the same user continues', async () => {
      await newPerson()
      const browser = server.newBrowser()
      const nonce = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
      await browser.open(callbackUrl(await signAssertion({ nonce, sub: subject })))
      const again = await browser.open(callbackUrl(await signAssertion({ nonce, sub: subject })))
      expect(again.url).toMatch(`${ISSUER}/consent?`)
    })

    test('refuses an identity that is linked to no user, and offers another attempt', async () => {
      const page = await passHandoff(server.newBrowser(), { sub: 'unknown' }, authorizeUrl(client.clientId))
      expect(page.statusCode).toBe(403)
      expect(page.body).toContain('No account here')
      expect(page.body).toContain(`${ISSUER}/login/handoff?`)
    })

    test('refuses a disabled user with the same page', async () => {
      await newPerson()
      await server.database.query({
        name: 'test_disable',
        text: 'update users set disabled_at = now() where username = $1',
        values: [username]
      })
      const page = await passHandoff(server.newBrowser(), { sub: subject })
      expect(page.statusCode).toBe(403)
      expect(page.body).toContain('No account here')
    })

    test('that the user stopped leads back to the app only if the user chooses so', async () => {
      const browser = server.newBrowser()
      const id = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
      const page = await browser.open(`${ISSUER}/login/handoff/callback?request=${id}&error=access_denied`)
      expect(page.statusCode).toBe(403)
      expect(page.body).toContain('You stopped at')
      expect(page.body.replaceAll('&#x3D;', '=')).toContain('error=access_denied')
    })

    test('asks the login page to authenticate again if the app does (prompt=login), and checks auth_time', async () => {
      await newPerson()
      const browser = server.newBrowser()
      const start = authorizeUrl(client.clientId, { prompt: 'login' })
      const loginPage = await startHandoff(browser, start)
      expect(loginPage.searchParams.get('prompt')).toBe('login')
      const old = { nonce: requestIdOf(loginPage), sub: subject, auth_time: Math.floor(Date.now() / 1000) - 400 }
      const page = await browser.open(callbackUrl(await signAssertion(old)))
      expect(page.statusCode).toBe(403)
      expect(page.body).toContain('Please sign in again')
      expect((await passHandoff(browser, { sub: subject }, start)).url).toMatch(`${ISSUER}/consent?`)
    })

    test('creates no user by default, and one for each identity with LOGIN_HANDOFF_PROVISIONING=create', async () => {
      const other = await startTestServer({ ...HANDOFF, LOGIN_HANDOFF_PROVISIONING: 'create' })
      try {
        await other.createUser('Alice', PASSWORD)
        const pages = [
          await passHandoff(other.newBrowser(), { sub: 'new', name: 'Alice' }),
          await passHandoff(other.newBrowser(), { sub: 'new', name: 'Alice' })
        ]
        expect(pages.map(({ statusCode }) => statusCode)).toEqual([200, 200])
        expect(pages.map(({ body }) => /<strong><bdi>([^<]*)</.exec(body)?.[1])).toEqual(['Alice-2', 'Alice-2'])
      } finally {
        await other.close()
      }
    })
  })

  describe('a hand-off that takes long', () => {
    let clock: ReturnType<typeof stopClock>
    beforeAll(() => {
      clock = stopClock()
    })
    afterAll(() => clock.restart())
    afterEach(() => server.redis.flushdb())

    test('starts over from the request of the app after 15 minutes', async () => {
      await newPerson()
      const browser = server.newBrowser()
      const nonce = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
      clock.advance(15 * 60)
      const page = await browser.open(callbackUrl(await signAssertion({ nonce, sub: subject })))
      expect(page.statusCode).toBe(200)
      expect(page.body).toContain('Your sign-in was interrupted or has expired.')
      const again = /href="([^"]*\/login\/handoff\?[^"]*)"/
        .exec(page.body)?.[1]
        ?.replace(/&(amp|#x3D);/g, (_, name) => (name === 'amp' ? '&' : '='))
      expect((await passHandoff(browser, { sub: subject }, again)).url).toMatch(`${ISSUER}/consent?`)
    })

    test('starts over if the assertion arrives later than 30 s after its expiry', async () => {
      await newPerson()
      const browser = server.newBrowser()
      const nonce = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
      const assertion = await signAssertion({ nonce, sub: subject })
      clock.advance(90)
      const page = await browser.open(callbackUrl(assertion))
      expect(page.body).toContain('Your sign-in was interrupted or has expired.')
    })
  })
})

describe('attacks on the handoff', () => {
  let server: TestServer
  const log = collectLog()
  beforeAll(async () => {
    server = await startTestServer({ ...HANDOFF, LOG_LEVEL: 'trace' }, log.logger)
    await insertIdentity(server, await server.createUser('alice', PASSWORD), 'alice')
    await insertIdentity(server, await server.createUser('mallory', PASSWORD), 'mallory')
  })
  afterAll(() => server.close())

  async function begin(): Promise<{ browser: Browser; nonce: string }> {
    const browser = server.newBrowser()
    return { browser, nonce: requestIdOf(await startHandoff(browser)) }
  }

  const isSignedIn = async (browser: Browser) => (await browser.get(`${ISSUER}/account/apps`)).statusCode === 200

  function expectRefusal(page: Page, title: string): void {
    expect(page.statusCode).toBe(400)
    expect(page.body).toContain(title)
    expect(page.headers['referrer-policy']).toBe('no-referrer')
  }

  test('an assertion is refused in another browser, and still works in its own (login CSRF)', async () => {
    const { browser, nonce } = await begin()
    const assertion = await signAssertion({ nonce, sub: 'mallory' })
    for (const victim of [server.newBrowser(), (await begin()).browser]) {
      expectRefusal(await victim.open(callbackUrl(assertion)), 'This sign-in belongs to another browser')
      expect(await isSignedIn(victim)).toBe(false)
    }
    await browser.open(callbackUrl(assertion))
    expect(await isSignedIn(browser)).toBe(true)
  })

  test('an assertion that is sent again after signing out signs no user in: the browser is back at sign-in', async () => {
    const { browser, nonce } = await begin()
    const assertion = await signAssertion({ nonce, sub: 'alice' })
    await browser.open(callbackUrl(assertion))
    await signOut(browser)
    const page = await browser.open(callbackUrl(assertion))
    expect(page.url).toBe(`${ISSUER}/login?again=interrupted`)
    expect(await isSignedIn(browser)).toBe(false)
  })

  test('an assertion about another person does not replace the session of its request', async () => {
    const { browser, nonce } = await begin()
    await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'alice' })))
    const page = await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'mallory' })))
    expectRefusal(page, 'This sign-in is no longer available')
    expect((await browser.open(`${ISSUER}/account/apps`)).body).toContain('alice')
  })

  test('an assertion that is sent twice in parallel opens one session, and neither response is an error', async () => {
    const { browser, nonce } = await begin()
    const assertion = await signAssertion({ nonce, sub: 'alice' })
    const before = await countSessions(server)
    const answers = await Promise.all([browser.get(callbackUrl(assertion)), browser.get(callbackUrl(assertion))])
    const next = answers.map(({ headers }) => String(headers.location))
    expect(next.toSorted()).toEqual([`${ISSUER}/account/apps`, `${ISSUER}/login?again=interrupted`])
    expect(await countSessions(server)).toBe(before + 1)
    expect(await isSignedIn(browser)).toBe(true)
    for (const url of next) expect((await browser.open(url)).statusCode).toBe(200)
  })

  test.each([
    { name: 'of a signed-in user', query: '', signsIn: true, next: `${ISSUER}/account/apps` },
    {
      name: 'with an invalid request',
      query: '?client_id=x',
      signsIn: false,
      next: `${ISSUER}/oauth/authorize?client_id=x`
    }
  ])('a start $name leads to no login page and stores nothing', async ({ query, signsIn, next }) => {
    const { browser, nonce } = await begin()
    if (signsIn) await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'alice' })))
    await deleteKeys(server, 'vk:attempt*')
    const page = await browser.get(`${ISSUER}/login/handoff${query}`)
    expect(page.headers.location).toBe(next)
    expect(await server.redis.keys('vk:attempt*')).toEqual([])
  })

  test('HEAD takes nothing, as a program that previews links sends it', async () => {
    const { browser, nonce } = await begin()
    const url = callbackUrl(await signAssertion({ nonce, sub: 'alice' }))
    const cookies = Object.fromEntries(browser.cookies)
    const head = await server.publicServer.inject({ method: 'HEAD', url: url.slice(ISSUER.length), cookies })
    expect(head.statusCode).toBe(405)
    await browser.open(url)
    expect(await isSignedIn(browser)).toBe(true)
  })

  test('a wrong signature does not use up the request', async () => {
    const { browser, nonce } = await begin()
    const forged = `${(await signAssertion({ nonce, sub: 'alice' })).slice(0, -8)}AAAAAAAA`
    expectRefusal(await browser.open(callbackUrl(forged)), 'is not set up correctly')
    await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'alice' })))
    expect(await isSignedIn(browser)).toBe(true)
  })

  test.each([
    { name: 'two assertions', query: 'assertion=a&assertion=b' },
    { name: 'nothing', query: '' },
    { name: 'a cancelled request that is unknown', query: `request=${'a'.repeat(43)}&error=access_denied` }
  ])('$name is refused', async ({ query }) => {
    const page = await server.newBrowser().open(`${ISSUER}/login/handoff/callback?${query}`)
    expect(page.statusCode).toBe(400)
  })

  test('a stored request that was edited or copied in Redis is refused', async () => {
    const [alice, mallory] = [await begin(), await begin()]
    const key = (nonce: string) => `vk:attempt:{${hashId(nonce)}}`
    const record = (await server.redis.get(key(mallory.nonce))) ?? ''
    const json = record.indexOf('{')
    const edited = { ...JSON.parse(record.slice(json)), purpose: { kind: 'link', userId: 'alice', sessionHash: 'x' } }
    for (const forged of [record, `${record.slice(0, json)}${JSON.stringify(edited)}`]) {
      await server.redis.set(key(alice.nonce), forged)
      const page = await mallory.browser.open(callbackUrl(await signAssertion({ nonce: alice.nonce, sub: 'alice' })))
      expectRefusal(page, 'This sign-in is no longer available')
    }
  })

  test('the log has no assertion and no request id', async () => {
    const { browser, nonce } = await begin()
    const assertion = await signAssertion({ nonce, sub: 'alice' })
    await browser.open(callbackUrl(assertion))
    const text = JSON.stringify(log.lines)
    expect(text).toContain('sign_in_succeeded')
    expect(text).not.toContain(assertion)
    expect(text).not.toContain(nonce)
  })
})

describe('choice of a way to sign in', () => {
  const PROVIDER = { issuer: 'https://a.example', client_id: 'valetkey', client_secret: 's' }
  const PROVIDERS = [
    { ...PROVIDER, id: 'first', label: 'First & Co' },
    { ...PROVIDER, id: 'second', label: 'Second', issuer: 'https://b.example' }
  ]

  const links = (body: string) =>
    [...body.matchAll(/href="([^"]*\/login\/with\/[^"]*)"/g)].map(([, url = '']) =>
      url.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=')
    )

  describe('local sign-in and two providers', () => {
    let server: TestServer
    beforeAll(async () => {
      server = await startTestServer({
        SIGN_IN_PROVIDERS: JSON.stringify(PROVIDERS),
        SIGN_IN_HELP_URL: 'https://help.example/'
      })
      await server.createUser('alice', PASSWORD)
    })
    afterAll(() => server.close())

    test('the page shows the form first, then a link for each provider with the request of the app', async () => {
      const { clientId } = await server.createClient()
      const page = await server.newBrowser().open(authorizeUrl(clientId))
      const query = new URL(page.url).search
      expect(links(page.body)).toEqual([`${ISSUER}/login/with/first${query}`, `${ISSUER}/login/with/second${query}`])
      expect(page.body.indexOf('<form')).toBeLessThan(page.body.indexOf('/login/with/first'))
      expect(page.body).toContain('First &amp; Co')
      expect(page.body).toContain('href="https://help.example/"')
    })

    test('the way that this browser used last comes first', async () => {
      const browser = server.newBrowser()
      browser.cookies.set(COOKIES.lastWay, 'second')
      const page = await browser.open(`${ISSUER}/login`)
      expect(links(page.body)).toEqual([`${ISSUER}/login/with/second`, `${ISSUER}/login/with/first`])
      expect(page.body.indexOf('<form')).toBeGreaterThan(page.body.indexOf('/login/with/second'))
    })

    test('an unknown value of the cookie changes nothing', async () => {
      const browser = server.newBrowser()
      browser.cookies.set(COOKIES.lastWay, '"><script>')
      const page = await browser.open(`${ISSUER}/login`)
      expect(page.body.indexOf('<form')).toBeLessThan(page.body.indexOf('/login/with/first'))
      expect(page.body).not.toContain('<script>')
    })
  })

  describe('one provider and no local sign-in', () => {
    let server: TestServer
    beforeAll(async () => {
      const settings = { LOCAL_SIGN_IN: 'false', SIGN_IN_PROVIDERS: JSON.stringify(PROVIDERS.slice(0, 1)) }
      server = await startTestServer(settings)
    })
    afterAll(() => server.close())

    test('the page goes straight on to the provider, without a redirect, and has a link', async () => {
      const { clientId } = await server.createClient()
      const { search } = new URL(authorizeUrl(clientId))
      for (const query of ['', search, '?page=sign-ins']) {
        const browser = server.newBrowser()
        await browser.get(`${ISSUER}/login`)
        const response = await browser.get(`${ISSUER}/login${query}`)
        const start = `${ISSUER}/login/with/first${query}`
        expect([response.statusCode, response.headers.refresh]).toEqual([200, `0;url=${start}`])
        expect(links(response.body)).toEqual([start])
      }
    })

    test('after signing out, the page is shown, because the provider might sign the user in again', async () => {
      const response = await server.newBrowser().get(`${ISSUER}/login?done=signed_out`)
      expect([response.statusCode, response.headers.refresh]).toEqual([200, undefined])
      expect(response.body).not.toContain('name="password"')
      expect(links(response.body)).toEqual([`${ISSUER}/login/with/first`])
    })

    test('a password is not accepted', async () => {
      const browser = server.newBrowser()
      const page = await browser.open(`${ISSUER}/login?done=signed_out`)
      expect(page.body).not.toContain('<form')
    })
  })
})

describe('the example login page', () => {
  const EXAMPLE = path.resolve(import.meta.dirname, '../../../../../../../examples/login-page')

  let server: TestServer
  let client: Credentials
  let directory: string
  let loginPage: { url: string; child: ChildProcess }

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'valetkey-login-page-'))
    ;[server, loginPage] = await Promise.all([
      startTestServer({ ...HANDOFF, LOCAL_SIGN_IN: 'false' }),
      startExampleLoginPage(directory)
    ])
    client = await server.createClient()
    await insertIdentity(server, await server.createUser('alice at Valetkey', PASSWORD), 'u-1001')
  })
  afterAll(async () => {
    loginPage.child.kill()
    await rm(directory, { recursive: true })
    await server.close()
  })

  async function submit(request: string, password: string) {
    const body = new URLSearchParams({ request, username: 'alice', password })
    return fetch(loginPage.url, { method: 'POST', body, redirect: 'manual' })
  }

  test('the example login page signs alice in to an app', async () => {
    const browser = server.newBrowser()
    const request = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
    const form = await (await fetch(`${loginPage.url}?request=${request}`)).text()
    expect(form).toContain(`name="request" value="${request}"`)
    expect((await submit(request, 'wrong')).status).toBe(422)
    const { status, headers } = await submit(request, 'only for this example')
    expect(status).toBe(303)
    const consent = await browser.open(headers.get('location') ?? '')
    expect(consent.body).toContain('alice at Valetkey')
    const answer = await browser.submitOnly(consent, { decision: 'allow' })
    expect(answer.headers.location).toMatch(`${REDIRECT_URI}?`)
  })

  test('its cancel link leads to the page with the other ways', async () => {
    const browser = server.newBrowser()
    const request = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
    const form = await (await fetch(`${loginPage.url}?request=${request}`)).text()
    const cancel = /<a href="([^"]+)"/.exec(form)?.[1]?.replace('&amp;', '&') ?? ''
    expect(cancel.startsWith(`${ISSUER}/login/handoff/callback?`)).toBe(true)
    expect((await browser.open(cancel)).body).toContain('You stopped at')
  })

  test('it refuses a request id that Valetkey cannot have sent', async () => {
    expect((await fetch(`${loginPage.url}?request=${encodeURIComponent('"><script>')}`)).status).toBe(400)
  })

  test('has at most 60 lines and imports modules of Node only', () => {
    const program = readFileSync(path.join(EXAMPLE, 'login-page.mjs'), 'utf8')
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
    expect([...program.matchAll(/from '([^']+)'/g)].every(([, module]) => module?.startsWith('node:'))).toBe(true)
  })
})
