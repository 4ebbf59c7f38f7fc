import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, secretIdOf } from '@valetkey/oauth-protocol'
import sharp from 'sharp'
import type { Actor } from '../../../../src/features/developer-apps/own-apps.js'
import {
  createClientRefusalStore,
  type NewClientRefusal
} from '../../../../src/features/refused-requests/client-refusal-store.js'
import { createLimiter } from '../../../../src/platform/rate-limits/limiter.js'
import { appFormLimit } from '../../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../../src/storage/redis/attempt-counters.js'
import { ISSUER, startTestServer, type TestServer, until } from '../../../support/authorization-server.js'
import { type Browser, firstForm } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import {
  APPS,
  newApp,
  secretIn,
  sendForm,
  sendNewApp,
  startDeveloperServer,
  VALID
} from '../../../support/developer.js'
import { authorizeUrl, exchange, PASSWORD, post } from '../../../support/flow.js'
import { collectLog } from '../../../support/log-lines.js'
import { submitMultipart } from '../../../support/multipart-form.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'
import { writeRest } from '../../../support/write-rest.js'
import { actorOf, ownAppDeps, registerApp, releaseScope } from '../support/developer-apps.js'

const clock = stopClock()
let server: TestServer

beforeAll(async () => {
  server = await startDeveloperServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('received forms', () => {
  let browser: Browser

  beforeAll(async () => {
    await server.createUser('rita', PASSWORD)
    browser = await signedInBrowser(server, 'rita')
  })

  const query = (text: string) => server.database.query<{ count: number }>({ name: '', text, values: [] })

  test('after 100 valid forms of the user in a day, nothing is stored, and the input is kept', async () => {
    const [user] = await server.database.query<{ user_id: string }>({
      name: '',
      text: "select user_id from users where username = 'rita'",
      values: []
    })
    const limiter = createLimiter(createAttemptCounterStore(server.redis), 1)
    for (let sent = 1; sent <= 99; sent++) await limiter.count(appFormLimit(user?.user_id ?? ''))
    expect((await sendNewApp(server, browser, { name: '' })).statusCode).toBe(422)
    const { url } = await newApp(server, browser)
    const edit = await browser.open(`${url}/edit`)
    const logos = async () => (await query('select count(*)::int as count from client_logos'))[0]?.count
    const before = await logos()
    const create = { width: 9, height: 9, channels: 3, background: '#821' } as const
    const logo = new Blob([new Uint8Array(await sharp({ create }).png().toBuffer())])
    const answer = await submitMultipart(server, browser, edit, { ...VALID, name: 'Bells', logo })
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('Try again tomorrow.')])
    expect(firstForm(answer.body).fields.name).toBe('Bells')
    expect(await logos()).toBe(before)
    // Neither can more users use the app.
    for (const people of ['testers', 'owners']) {
      const { body } = await sendForm(browser, url, people, { username: 'bob' })
      expect(visibleText(body)).toContain('Try again tomorrow.')
    }
    expect(await query('select username from app_testers union select username from app_invitations')).toEqual([])
  })
})

describe('people of an app', () => {
  let alice: Browser
  let url: string
  let clientId: string

  const run = (text: string) => server.database.query({ name: '', text, values: [] })
  beforeEach(async () => {
    await run('delete from users')
    await run(`delete from clients where origin = 'developer'`)
    await Promise.all(['alice', 'bob'].map((name) => server.createUser(name, PASSWORD)))
    alice = await signedInBrowser(server)
    ;({ url, clientId } = await newApp(server, alice))
  })

  const textOf = async (browser: Browser, address: string) => visibleText((await browser.open(address)).body)
  const decideInvitation = async (browser: Browser, answer: 'accept' | 'decline') =>
    browser.submit(fromForm(await browser.open(APPS), '/account/developer/invitations'), { answer })

  describe('owners', () => {
    test('an invited user becomes an owner when they accept, and can be removed', async () => {
      const bob = await signedInBrowser(server, 'bob')
      expect((await sendForm(alice, url, 'owners', { username: 'bob' })).url).toBe(`${url}?done=invited`)
      expect((await bob.get(url)).statusCode).toBe(404)
      expect(await textOf(bob, APPS)).toMatch(/alice.*invites you to become an owner of.*Wind Chimes/s)
      expect((await decideInvitation(bob, 'accept')).url).toBe(`${APPS}?done=accepted`)
      expect(await textOf(bob, url)).toContain('Wind Chimes')
      const removed = await sendForm(alice, url, 'owners/remove', { user_id: await idOf('bob') })
      expect(removed.url).toBe(`${url}?done=removed`)
      expect((await bob.get(url)).statusCode).toBe(404)
    })

    test('a transferred app leaves its former owner', async () => {
      const bob = await signedInBrowser(server, 'bob')
      await sendForm(alice, url, 'owners', { username: 'bob', transfers: 'on' })
      expect(await textOf(alice, url)).toContain('invited to take over')
      expect(await textOf(bob, APPS)).toMatch(/alice.*wants to transfer/s)
      await decideInvitation(bob, 'accept')
      expect([(await alice.get(url)).statusCode, (await bob.get(url)).statusCode]).toEqual([404, 200])
    })

    test('a declined or withdrawn invitation makes no owner', async () => {
      const bob = await signedInBrowser(server, 'bob')
      await sendForm(alice, url, 'owners', { username: 'bob' })
      const list = fromForm(await bob.open(APPS), '/account/developer/invitations')
      await sendForm(alice, url, 'owners/withdraw')
      expect((await bob.submit(list, { answer: 'accept' })).url).toBe(APPS)
      await sendForm(alice, url, 'owners', { username: 'bob' })
      await decideInvitation(bob, 'decline')
      expect((await bob.get(url)).statusCode).toBe(404)
    })

    test('an owner can leave, but not the last one', async () => {
      const bob = await signedInBrowser(server, 'bob')
      expect((await alice.open(url)).body).not.toContain('owners/remove')
      await sendForm(alice, url, 'owners', { username: 'bob' })
      await decideInvitation(bob, 'accept')
      const form = fromForm(await alice.open(url), `${new URL(url).pathname}/owners/remove`)
      await sendForm(bob, url, 'owners/remove', { user_id: await idOf('bob') })
      const refused = await alice.submit(form, { user_id: await idOf('alice') })
      expect([refused.statusCode, visibleText(refused.body)]).toEqual([422, expect.stringContaining('The last owner')])
    })

    test('needs a fresh sign-in', async () => {
      const form = fromForm(await alice.open(url), `${new URL(url).pathname}/owners`)
      clock.advance(360)
      const answer = await alice.submitOnly(form, { username: 'bob' })
      expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${clientId}`)
    })
  })

  describe.each([
    { people: 'owners', done: 'invited' },
    { people: 'testers', done: 'added' }
  ])('$people', ({ people, done }) => {
    test('the response is the same for a user who exists and for one who does not', async () => {
      const answers = []
      for (const username of ['bob', 'unknown-user']) {
        const { url: ownUrl } = await newApp(server, alice, { name: `App for ${username}` })
        const answer = await sendForm(alice, ownUrl, people, { username })
        expect(answer.url).toBe(`${ownUrl}?done=${done}`)
        const text = visibleText(answer.body).replaceAll(username, 'USER')
        answers.push(text.replace(/client_id=\S+/, '').replace(/[\w-]{20,}|\b[0-9a-f]{12}\b/g, 'ID'))
      }
      expect(answers[0]).toBe(answers[1])
    })

    test('a malformed name: 422, and the input is kept', async () => {
      const typed = 'x'.repeat(101)
      const answer = await sendForm(alice, url, people, { username: typed })
      expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('not a user name')])
      expect(answer.body).toContain(`value="${typed}" aria-describedby`)
    })

    test('HTML in a name is shown as text', async () => {
      await sendForm(alice, url, people, { username: '<img src=x>"' })
      expect((await alice.open(url)).body).not.toContain('<img src=x')
    })
  })

  test('a test user is listed and can be removed', async () => {
    await sendForm(alice, url, 'testers', { username: 'bob' })
    expect(await textOf(alice, url)).toContain('bob')
    expect((await sendForm(alice, url, 'testers/remove')).url).toBe(`${url}?done=removed`)
    expect(await textOf(alice, url)).not.toContain('bob')
  })

  async function idOf(username: string): Promise<string> {
    const text = 'select user_id from users where username = $1'
    const rows = await server.database.query<{ user_id: string }>({ name: '', text, values: [username] })
    return rows[0]?.user_id ?? ''
  }
})

describe('refused requests', () => {
  let server: TestServer
  let alice: Browser
  let app: { clientId: string; clientSecret: string }

  beforeAll(async () => {
    server = await startTestServer({ DEVELOPER_APPS: 'approved' })
    await releaseScope(server, 'notes.read')
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    const user = await signedIn()
    alice = user.browser
    app = await registerApp(user.actor, ownAppDeps(server))
    await until(async () => (await server.deps.authorize.clients.find(app.clientId)) !== undefined)
  })

  async function signedIn(): Promise<{ browser: Browser; actor: Actor }> {
    const username = `user-${randomUUID()}`
    const userId = await server.createUser(username, PASSWORD)
    const browser = server.newBrowser()
    await browser.submit(await browser.open(`${ISSUER}/login`), { username, password: PASSWORD })
    return { browser, actor: await actorOf(server, { userId, username }) }
  }

  const pageOf = (clientId: string) => `${ISSUER}/account/developer/apps/${clientId}/refusals`

  async function open(browser = alice, clientId = app.clientId) {
    await writeRest(server)
    return browser.get(pageOf(clientId))
  }

  function refusal(change: Partial<NewClientRefusal> = {}): NewClientRefusal {
    return {
      clientId: app.clientId,
      endpoint: 'token',
      error: 'invalid_grant',
      reason: 'code_used',
      description: undefined,
      requestId: randomUUID(),
      redirectUri: undefined,
      authenticated: true,
      recordedAt: performance.now(),
      ...change
    }
  }

  const store = (...refusals: NewClientRefusal[]) => createClientRefusalStore(server.database).append(refusals)

  describe('the page of refused requests', () => {
    test('shows what happened, what to do, the request id and the page of the error code, newest first', async () => {
      const first = await exchange(server, app, 'vk_ac_x')
      const second = await exchange(server, app, 'vk_ac_x', { grant_type: 'password' })
      const page = await open()
      expect(page.statusCode).toBe(200)
      expect(page.headers['cache-control']).toBe('no-store')
      for (const text of [
        'The authorization code is not one of this app.',
        'The only grant types are authorization_code and refresh_token.',
        `<a href="${ISSUER}/errors/invalid_grant">`,
        'Your app, with a valid secret',
        '<code dir="ltr">/token</code>'
      ])
        expect(page.body).toContain(text)
      const [newer, older] = [second, first].map(({ headers }) => page.body.indexOf(String(headers['x-request-id'])))
      expect(newer).toBeGreaterThan(0)
      expect(older).toBeGreaterThan(Number(newer))
    })

    test('escapes the redirect URI that was sent, and shows no value of its query', async () => {
      await store(
        refusal({
          reason: 'redirect_uri_mismatch',
          redirectUri: 'https://a.example/<script>"\'&x=…',
          authenticated: false
        })
      )
      const { body } = await open()
      expect(body).not.toContain('<script>"')
      expect(body).toContain('https://a.example/&lt;script&gt;&quot;')
      expect(body).toContain('Not confirmed')
    })

    test('without refusals shows "No refused requests"', async () => {
      expect((await open()).body).toContain('No refused requests')
    })

    test('for a request of a non-owner to an unpublished app names no user', async () => {
      const { browser, actor } = await signedIn()
      await browser.get(authorizeUrl(app.clientId))
      const { body } = await open()
      expect(body).toContain('The app is not published')
      expect(body).not.toContain(actor.user.username)
      expect(body).not.toContain(actor.user.userId)
    })

    test('is available in German and Arabic, with every reason', async () => {
      await store(
        refusal({ reason: 'wrong_secret' }),
        refusal({ reason: 'invalid_scope' }),
        refusal({ reason: 'other' })
      )
      const inLanguage = async (tag: string) => (await alice.get(`${pageOf(app.clientId)}?ui_locales=${tag}`)).body
      expect(await inLanguage('de')).toContain('Das Client-Secret ist falsch.')
      expect(await inLanguage('ar')).toContain('سرّ العميل خاطئ.')
    })

    test('of another user’s app: the same response as for an unknown app', async () => {
      await store(refusal())
      const { browser } = await signedIn()
      const operated = await server.createClient()
      const answers = await Promise.all(
        [app.clientId, operated.clientId, 'unknown', 'a'.repeat(500), '%00', '..%2f'].map((id) =>
          browser.get(pageOf(id))
        )
      )
      const [foreign] = answers
      for (const { statusCode, body } of answers) {
        expect(statusCode).toBe(404)
        expect(withoutIds(body)).toBe(withoutIds(foreign?.body ?? ''))
      }
      expect((await alice.get(pageOf(app.clientId))).statusCode).toBe(200)
    })

    test('without a session leads to sign-in', async () => {
      const answer = await open(server.newBrowser())
      expect([answer.statusCode, answer.headers.location]).toEqual([303, `${ISSUER}/login?page=developer`])
    })

    test('has no form and changes nothing when it is sent to', async () => {
      const answer = await post(server, pageOf(app.clientId).slice(ISSUER.length), {})
      expect(answer.statusCode).toBe(405)
    })
  })

  test('with DEVELOPER_APPS=off there is no page', async () => {
    const other = await startTestServer()
    const answer = await other.newBrowser().get(pageOf(app.clientId))
    expect(answer.statusCode).toBe(404)
    await other.close()
  })

  /** Without the request id. */
  function withoutIds(body: string): string {
    return body
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'time')
  }
})

describe('/account/developer/apps/ID/secrets', () => {
  const { logger, text: logText } = collectLog()
  let server: TestServer
  let browser: Browser
  let app: { clientId: string; url: string; clientSecret: string | undefined }

  const run = (text: string, values: readonly unknown[] = []) => server.database.query({ name: '', text, values })

  beforeAll(async () => {
    server = await startDeveloperServer('approved', logger)
  })
  beforeEach(async () => {
    await run('delete from users')
    await run(`delete from clients where origin = 'developer'`)
    await server.createUser('alice', PASSWORD)
    browser = await signedInBrowser(server)
    app = await newApp(server, browser)
  })
  afterAll(async () => {
    await server.close()
  })

  /** Whether the secret authenticates the app: an unknown token is no error at the revocation endpoint. */
  async function works(clientSecret = ''): Promise<boolean> {
    const payload = new URLSearchParams({ client_id: app.clientId, client_secret: clientSecret, token: 'unknown' })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await server.publicServer.inject({
      method: 'POST',
      url: '/oauth/revoke',
      headers,
      payload: payload.toString()
    })
    return answer.statusCode === 200
  }

  const liveSecrets = () => run('select secret_hash from client_secrets where client_id = $1', [app.clientId])
  const pathOf = (below: string) => `${new URL(app.url).pathname}/${below}`

  test('a new secret works beside the old one; then the old one can be removed, but never the last', async () => {
    const shown = await sendForm(browser, app.url, 'secrets')
    const secret = secretIn(shown.body)
    expect([shown.statusCode, shown.headers['cache-control'], secret === app.clientSecret]).toEqual([
      200,
      'no-store',
      false
    ])
    expect(visibleText(shown.body)).toContain('never shown again')
    expect([await works(secret), await works(app.clientSecret)]).toEqual([true, true])
    const page = await browser.open(app.url)
    expect(visibleText(page.body)).toContain('An app can have two live secrets')
    const old = { secret_id: secretIdOf(hashToken(app.clientSecret ?? '')) }
    const removed = await sendForm(browser, app.url, 'secrets/remove', old)
    expect(removed.url).toBe(`${app.url}?done=secret_removed`)
    expect([await works(secret), await works(app.clientSecret)]).toEqual([true, false])
    const last = await sendForm(browser, app.url, 'secrets/remove')
    expect([last.statusCode, visibleText(last.body)]).toEqual([422, expect.stringContaining('It is the only one')])
    expect(await works(secret)).toBe(true)
  })

  test('the secret is in no address, in no other page and not in the log', async () => {
    const page = await browser.open(app.url)
    const shown = await browser.submitOnly(fromForm(page, pathOf('secrets')), {})
    const secret = secretIn(shown.body) ?? 'none'
    expect(shown.headers.location).toBeUndefined()
    for (const address of [app.url, `${app.url}/edit`, `${app.url}/delete`, `${app.url}?done=saved`]) {
      expect((await browser.open(address)).body).not.toContain(secret)
    }
    expect(logText()).not.toContain(secret)
    expect(logText()).toContain('client_secret_rotated')
  })

  test('a reload of the page with the secret creates no other secret and does not show it again', async () => {
    const form = fromForm(await browser.open(app.url), pathOf('secrets'))
    const first = await browser.submitOnly(form, {})
    const again = await browser.submitOnly(form, {})
    expect([first.statusCode, again.statusCode, secretIn(again.body)]).toEqual([200, 422, undefined])
    expect(visibleText(again.body)).toContain('No secret was created.')
    expect(await liveSecrets()).toHaveLength(2)
  })

  test('of several forms at the same moment one creates a secret', async () => {
    const form = fromForm(await browser.open(app.url), pathOf('secrets'))
    const answers = await Promise.all([1, 2, 3].map(() => browser.submitOnly(form, {})))
    expect(answers.filter(({ body }) => secretIn(body) !== undefined)).toHaveLength(1)
    expect(await liveSecrets()).toHaveLength(2)
  })

  test.each(['secrets', 'secrets/remove'])('%s needs a fresh sign-in', async (below) => {
    await sendForm(browser, app.url, 'secrets')
    await sendForm(browser, app.url, 'secrets/remove')
    const page = await browser.open(app.url)
    const form = fromForm(page, pathOf(below))
    clock.advance(360)
    const answer = await browser.submitOnly(form, {})
    expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${app.clientId}`)
    expect(await liveSecrets()).toHaveLength(1)
    const later = await browser.open(app.url)
    expect(later.body).not.toContain(`action="${app.url}/${below}"`)
    expect(visibleText(later.body)).toContain('Sign in again')
  })

  test('a public app has no secret', async () => {
    const { url } = await newApp(server, browser, { name: 'Pocket', type: 'public' })
    const form = fromForm(await browser.open(app.url), pathOf('secrets'))
    const body = form.body.replaceAll(app.url, url)
    const answer = await browser.submitOnly(Object.assign(Object.create(form), { body }), { known_secrets: '' })
    expect([answer.statusCode, answer.headers.location]).toEqual([303, url])
  })
})

describe('start page', () => {
  test('DEVELOPER_APPS=off: there are no such pages and no link to them', async () => {
    const off = await startTestServer()
    try {
      await off.createUser('alice', PASSWORD)
      const someone = await signedInBrowser(off)
      expect((await someone.get(APPS)).statusCode).toBe(404)
      expect((await someone.open(`${ISSUER}/account/apps`)).body).not.toContain('/account/developer')
    } finally {
      await off.close()
    }
  })
})
