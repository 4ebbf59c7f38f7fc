import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../support/audit-rows.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { Browser, type Page } from '../../support/browser.js'
import { browserAt } from '../../support/endings.js'
import { authorizeUrl, exchange, introspect, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField, visibleText } from '../../support/page-content.js'
import { fromForm, openConsent, postTo, signedInBrowser, signOut, userWithConsent } from '../../support/pages.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { sessionHashOf } from '../../support/sessions.js'
import { deleteRow, disable } from '../../support/tokens.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('steps', () => {
  let client: Credentials

  async function remembered(username: string): Promise<Browser> {
    const browser = await signedInBrowser(server, username)
    const page = await browser.open(authorizeUrl(client.clientId))
    await browser.submitOnly(page, { decision: 'allow' })
    return browser
  }

  async function ended(username: string, userId: string): Promise<Browser> {
    const browser = await remembered(username)
    const text = 'update users set session_generation = session_generation + 1 where user_id = $1'
    await server.database.query({ name: 'test_end_sessions', text, values: [userId] })
    return browser
  }

  async function lost(username: string): Promise<Browser> {
    const browser = await remembered(username)
    await server.deps.session.sessions.close(sessionHashOf(browser))
    return browser
  }

  async function known(): Promise<Browser> {
    const browser = server.newBrowser()
    await browser.open(`${ISSUER}/login`)
    return browser
  }

  type Start = (username: string, userId: string) => Promise<Browser>

  const SESSIONS: Readonly<Record<string, Start>> = {
    'no cookie': async () => server.newBrowser(),
    'no session': known,
    'a session that its user has ended': ended,
    'a session whose row is deleted': lost,
    'a session': (username) => signedInBrowser(server, username),
    'a session and a remembered consent': remembered
  }

  /** One browser in each state. No test changes the state: each uses a copy. */
  const started = new Map<string, Browser>()

  beforeAll(async () => {
    client = await server.createClient({ consent: 'remember' })
    for (const [name, start] of Object.entries(SESSIONS)) {
      const username = `user with ${name}`
      started.set(name, await start(username, await server.createUser(username, PASSWORD)))
    }
  })

  const browserWith = (session: string): Browser => browserAt(server, started.get(session) as Browser)

  const NO_SESSION = Object.keys(SESSIONS).slice(0, 4)

  /** Returns where the browser ends: a page, a code, or an error. */
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
        expect([step, endOf(await browserWith(session).open(addressOf(step, prompt)))]).toEqual([step, end])
      }
    })

    test.each(ROWS)(
      'prompt $prompt, $session: a made-up resume id changes nothing',
      async ({ prompt, session, end }) => {
        for (const step of ['/oauth/authorize', '/login', '/consent']) {
          const page = await browserWith(session).open(`${addressOf(step, prompt)}&resume=${'r'.repeat(43)}`)
          expect([step, endOf(page)]).toEqual([step, end])
        }
      }
    )

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
      expect(endOf(await browserWith(session).open(ISSUER + step))).toMatch(end)
    })
  })

  describe('a form with a valid CSRF token, sent to another step', () => {
    test.each(ROWS)('/consent, prompt $prompt, $session: no code without a pending request', async (row) => {
      const browser = browserWith(row.session)
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
        const browser = browserWith(session)
        const page = await browser.open(`${ISSUER}/login`)
        const form = `csrf_token=${hiddenField(page.body, 'csrf_token')}&username=user&password=wrong`
        const response = await postTo(server, browser, addressOf('/login', prompt), form, { origin: ISSUER })
        expect([response.statusCode, response.headers['set-cookie']]).toEqual([303, undefined])
        expect(response.headers.location).toMatch(/^[^?]*\/authorize\?/)
      }
    )
  })
})

describe('prompt', () => {
  let client: Credentials
  let username: string
  let browser: Browser

  beforeEach(async () => {
    ;({ username, client, browser } = await userWithConsent(server))
  })

  const request = (prompt: string, change = {}) => authorizeUrl(client.clientId, { prompt, ...change })
  const pathOf = (page: Page) => new URL(page.url).pathname
  const pendingRequests = async () => (await server.redis.keys('vk:requests:*')).length
  const codeOf = (page: Page) => (page.headers.location === undefined ? undefined : responseParameters(page).code)
  const signIn = (page: Page, from = browser) =>
    from.submitOnly(fromForm(page, '/login'), { username, password: PASSWORD })

  const auditedReasons = async (page: Page) =>
    (await auditRows(server))
      .filter((row) => row.event === 'authorization_refused' && row.request_id === page.headers['x-request-id'])
      .map(({ details }) => details.reason)

  describe.each(['login', 'select_account'])('prompt=%s', (prompt) => {
    test('requires a sign-in although there is a session, and gives the code after it', async () => {
      const session = browser.cookies.get(COOKIES.session)
      const page = await browser.open(request(prompt))
      expect(pathOf(page)).toBe('/login')
      expect(visibleText(page.body)).not.toContain('interrupted')
      const refused = await browser.submit(fromForm(page, '/login'), { username, password: 'wrong' })
      expect([refused.statusCode, pathOf(refused)]).toEqual([422, '/login'])
      const redirect = await browser.submit(fromForm(refused, '/login'), { username, password: PASSWORD })
      expect(responseParameters(redirect)).toEqual({ code: expect.any(String), state: 'a state', iss: ISSUER })
      expect(browser.cookies.get(COOKIES.session)).not.toBe(session)
    })

    test('requires one sign-in for each request', async () => {
      const first = await browser.open(request(prompt, { state: 'first' }))
      const second = await browser.open(request(prompt, { state: 'second' }))
      expect(codeOf(await browser.submit(fromForm(first, '/login'), { username, password: PASSWORD }))).toBeDefined()
      expect(pathOf(await browser.open(request(prompt, { state: 'first' })))).toBe('/login')
      expect(pathOf(await browser.submit(fromForm(second, '/login'), { username, password: PASSWORD }))).toBe('/login')
    })

    test.each<{ name: string; open: (location: string) => Promise<Page> }>([
      {
        name: 'a second use',
        open: async (location) => {
          expect(codeOf(await browser.open(location))).toBeDefined()
          return browser.open(location)
        }
      },
      { name: 'another request', open: (location) => browser.open(location.replace('state=a+state', 'state=other')) },
      {
        name: 'another browser of the same user',
        open: async (location) => (await openConsent(server, client.clientId, { username })).browser.open(location)
      },
      {
        name: 'the same browser without the session',
        open: async (location) => {
          browser.cookies.delete(COOKIES.session)
          return browser.open(location)
        }
      }
    ])('does not accept the address after the sign-in for $name', async ({ open }) => {
      const signedIn = await signIn(await browser.open(request(prompt)))
      expect(pathOf(await open(String(signedIn.headers.location)))).toBe('/login')
    })

    test('gives the code to the user who signs in', async () => {
      const otherId = await server.createUser(`other-${username}`, PASSWORD)
      const page = await browser.open(request(`${prompt} consent`))
      const consent = await browser.submit(fromForm(page, '/login'), {
        username: `other-${username}`,
        password: PASSWORD
      })
      const code = codeOf(await browser.submitOnly(consent, { decision: 'allow' }))
      const { access_token } = (await exchange(server, client, code ?? '')).json()
      const token = await introspect(server, await server.createResourceServer(), access_token)
      expect(token.json()).toMatchObject({ sub: otherId })
    })
  })

  describe('prompt=consent', () => {
    test.each(['consent', 'login consent', 'consent unknown'])(
      '%s shows the page of a remembered consent',
      async (prompt) => {
        let page = await browser.open(request(prompt))
        if (pathOf(page) === '/login') page = await browser.submit(page, { username, password: PASSWORD })
        expect([page.statusCode, pathOf(page)]).toEqual([200, '/consent'])
        expect(codeOf(await browser.submitOnly(page, { decision: 'allow' }))).toBeDefined()
      }
    )

    test('Deny is access_denied, and the consent stays remembered', async () => {
      const page = await browser.open(request('consent'))
      expect(responseParameters(await browser.submitOnly(page, { decision: 'deny' })).error).toBe('access_denied')
      expect(codeOf(await browser.get(authorizeUrl(client.clientId)))).toBeDefined()
    })
  })

  describe('prompt=none', () => {
    test('gives a code for a session and a remembered consent, without a page', async () => {
      expect(responseParameters(await browser.get(request('none')))).toEqual({
        code: expect.any(String),
        state: 'a state',
        iss: ISSUER
      })
    })

    test.each<{ error: string; description: string; from: () => Browser; change?: Record<string, string> }>([
      { error: 'login_required', description: 'The user must sign in.', from: () => server.newBrowser() },
      {
        error: 'consent_required',
        description: 'The user must allow access.',
        from: () => browser,
        change: { scope: 'files.read files.read:images' }
      }
    ])('redirects with $error and stores nothing', async ({ error, description, from, change }) => {
      const before = await pendingRequests()
      const response = await from().get(request('none', change))
      expect(response.statusCode).toBe(303)
      expect(responseParameters(response)).toEqual({
        error,
        error_description: description,
        error_uri: `${ISSUER}/errors/${error}`,
        state: 'a state',
        iss: ISSUER
      })
      expect(await pendingRequests()).toBe(before)
      expect(await auditedReasons(response)).toEqual([error])
    })

    test('is consent_required for a public client, which never remembers', async () => {
      const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
      const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
      const response = await browser.get(authorizeUrl(clientId, { prompt: 'none', ...pkce }))
      expect(responseParameters(response)).toMatchObject({ error: 'consent_required' })
    })

    test.each(['none login', 'none consent', 'none unknown'])(
      'with another value is invalid_request: %s',
      async (prompt) => {
        const response = await browser.get(request(prompt))
        expect(responseParameters(response)).toMatchObject({ error: 'invalid_request', state: 'a state' })
      }
    )
  })

  test.each(['create', 'Login', 'NONE', ''])('prompt "%s" is unknown and ignored', async (prompt) => {
    expect(codeOf(await browser.get(request(prompt)))).toBeDefined()
  })
})

describe('a code without a page', () => {
  let paused: TestServer
  let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
  let client: Credentials
  let username: string
  let userId: string
  let browser: Browser

  beforeAll(async () => {
    const started = await startPausingInstance(server)
    paused = started.paused
    pauses = started.pauses
  })
  beforeEach(async () => {
    ;({ userId, username, client, browser } = await userWithConsent(server))
  })
  afterAll(() => paused.close())

  const run = (name: string, text: string) => server.database.query({ name, text, values: [userId] })

  const grants = async () => (await run('test_grants_of', 'select 1 from grants where user_id = $1')).length
  const codes = () => server.redis.keys('vk:code:*')

  /** Earlier codes may expire meanwhile. */
  const codesSince = async (before: string[]) => (await codes()).filter((key) => !before.includes(key))

  /** The path that a request ends at. It must make no grant and no code. */
  async function refusedTo(opening: () => Promise<{ url: string }>): Promise<string> {
    const before = { grants: await grants(), codes: await codes() }
    const { url } = await opening()
    expect([await grants(), await codesSince(before.codes)]).toEqual([before.grants, []])
    return new URL(url).pathname
  }

  test('a remembered consent gives a code without a page, and its exchange makes one grant', async () => {
    const before = await grants()
    const answer = await browser.get(authorizeUrl(client.clientId))
    const { code = '' } = responseParameters(answer)
    expect(code).toMatch(/^vk_ac_/)
    expect(await grants()).toBe(before)
    expect((await exchange(server, client, code)).statusCode).toBe(200)
    expect(await grants()).toBe(before + 1)
  })

  describe('a session that has ended gets the sign-in page, although the consent is remembered', () => {
    const endings: { name: string; end(): Promise<unknown> }[] = [
      { name: 'the user was disabled', end: () => disable(server, 'user', userId) },
      {
        name: 'the user was disabled, generation unchanged',
        end: () => run('test_only_disable', 'update users set disabled_at = now() where user_id = $1')
      },
      { name: 'the user was deleted', end: () => deleteRow(server, 'user', userId) },
      {
        name: 'the user has a new password',
        end: () => run('test_new_password', 'update users set generation = generation + 1 where user_id = $1')
      },
      {
        name: 'the user signed out everywhere, at another browser',
        end: async () => signOut(await signedInBrowser(server, username), { everywhere: 'on' })
      },
      { name: 'the user signed out in this browser', end: () => signOut(browser) }
    ]

    test.each(endings)('$name', async ({ end }) => {
      await end()
      expect(await refusedTo(() => browser.open(authorizeUrl(client.clientId)))).toBe('/login')
    })

    test.each(endings)('$name, during the request', async ({ end }) => {
      const there = new Browser(paused.publicServer, paused.config.issuer)
      for (const [name, value] of browser.cookies) there.cookies.set(name, value)
      pauses.next = { before: 'read_allowance', run: end }
      expect(await refusedTo(() => there.open(authorizeUrl(client.clientId)))).toBe('/login')
      expect(pauses.next).toBeUndefined()
    })
  })

  describe('a consent that does not cover the request: the consent page is shown', () => {
    test.each([
      { name: 'it was withdrawn', text: 'delete from consents where user_id = $1', scope: 'files.read' },
      { name: 'it is smaller', text: 'select $1::uuid', scope: 'files.read files.read:images' }
    ])('$name', async ({ name, text, scope }) => {
      await run(`test ${name}`, text)
      expect(await refusedTo(() => browser.open(authorizeUrl(client.clientId, { scope })))).toBe('/consent')
    })
  })

  test('a client that is disabled during the request: access_denied', async () => {
    const there = new Browser(paused.publicServer, paused.config.issuer)
    for (const [name, value] of browser.cookies) there.cookies.set(name, value)
    pauses.next = { before: 'read_allowance', run: () => disable(server, 'client', client.clientId) }
    const before = await codes()
    const answer = await there.get(authorizeUrl(client.clientId))
    expect(responseParameters(answer)).toMatchObject({ error: 'access_denied', state: 'a state' })
    expect(await codesSince(before)).toEqual([])
  })

  test.each([
    { name: 'valid session: recorded', end: async () => {}, named: true },
    { name: 'ended session: not recorded', end: () => disable(server, 'user', userId), named: false }
  ])('user of a refused request in the audit record: $name', async ({ end, named }) => {
    await end()
    const answer = await browser.get(authorizeUrl(client.clientId, { scope: 'files.write' }))
    expect(responseParameters(answer)).toMatchObject({ error: 'invalid_scope' })
    // Writes the queued events; the trail can be used afterwards.
    await server.deps.audit.close()
    const text = "select user_id from audit_events where request_id = $1 and event = 'authorization_refused'"
    const values = [answer.headers['x-request-id']]
    expect(await server.database.query({ name: 'test_refusal', text, values })).toEqual([
      { user_id: named ? userId : null }
    ])
  })
})
