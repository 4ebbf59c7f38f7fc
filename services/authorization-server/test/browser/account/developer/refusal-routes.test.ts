import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Actor } from '../../../../src/browser/account/developer/own-apps.js'
import { createClientRefusalStore, type NewClientRefusal } from '../../../../src/storage/postgres/client-refusals.js'
import { ISSUER, startTestServer, type TestServer, until } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { actorOf, ownAppDeps, registerApp, releaseScope } from '../../../support/developer-apps.js'
import { authorizeUrl, exchange, PASSWORD, post } from '../../../support/flow.js'

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
  await until(async () => (await server.deps.authorize.validation.clients.find(app.clientId)) !== undefined)
})

async function signedIn(): Promise<{ browser: Browser; actor: Actor }> {
  const username = `user-${randomUUID()}`
  const userId = await server.createUser(username, PASSWORD)
  const browser = server.newBrowser()
  await browser.submit(await browser.open(`${ISSUER}/login`), { username, password: PASSWORD })
  return { browser, actor: actorOf({ userId, username }) }
}

const pageOf = (clientId: string) => `${ISSUER}/account/developer/apps/${clientId}/refusals`

async function open(browser = alice, clientId = app.clientId) {
  await server.deps.refusals.close()
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
    await store(refusal({ reason: 'wrong_secret' }), refusal({ reason: 'invalid_scope' }), refusal({ reason: 'other' }))
    const inLanguage = async (tag: string) => (await alice.get(`${pageOf(app.clientId)}?ui_locales=${tag}`)).body
    expect(await inLanguage('de')).toContain('Das Client-Secret ist falsch.')
    expect(await inLanguage('ar')).toContain('سرّ العميل خاطئ.')
  })

  test('of another user’s app: the same response as for an unknown app', async () => {
    await store(refusal())
    const { browser } = await signedIn()
    const operated = await server.createClient()
    const answers = await Promise.all(
      [app.clientId, operated.clientId, 'unknown', 'a'.repeat(500), '%00', '..%2f'].map((id) => browser.get(pageOf(id)))
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
  return body.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'time')
}
