import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { addTester, removeTester } from '../../../../src/features/developer-apps/app-testers.js'
import { changeApp } from '../../../../src/features/developer-apps/change-app.js'
import { disableApp } from '../../../../src/features/developer-apps/end-app.js'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { requestApproval } from '../../../../src/features/developer-apps/request-approval.js'
import {
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer,
  until
} from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { PKCE, VERIFIER } from '../../../support/codes.js'
import { authorizeUrl, exchange, PASSWORD, refresh, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { pairOf } from '../../../support/tokens.js'
import { actorOf, appInput, ownAppDeps, registerApp, releaseScope } from '../support/developer-apps.js'

const DRAFT = 'This app is a draft'
const NOT_PUBLISHED = 'This app is not published yet'

let server: TestServer
let deps: OwnAppDeps
let alice: Actor
let app: Credentials
const HOME_PAGE = 'https://boat.example/'
const input = appInput({ redirectUris: [REDIRECT_URI], branding: { homePage: HOME_PAGE } })

beforeAll(async () => {
  server = await startTestServer()
  deps = ownAppDeps(server)
  await releaseScope(server, 'notes.read')
  await until(async () => (await server.deps.scopes.list()).some(({ name }) => name === 'notes.read'))
  alice = await actorOf(server, { userId: await server.createUser('alice', PASSWORD), username: 'alice' })
  for (const name of ['bob', 'mallory']) await server.createUser(name, PASSWORD)
})
beforeEach(async () => {
  await server.database.query({ name: '', text: 'delete from clients', values: [] })
  await server.database.query({ name: '', text: 'delete from app_registrations', values: [] })
  app = await registerApp(alice, deps, input)
  await until(async () => (await server.deps.authorize.clients.find(app.clientId)) !== undefined)
})
afterAll(() => server.close())

const request = (change: Record<string, string | undefined> = {}) =>
  authorizeUrl(app.clientId, { scope: 'notes.read', ...PKCE, ...change })

async function consentOf(username: string): Promise<{ browser: Browser; page: Page }> {
  const browser = await signedInBrowser(server, username)
  return { browser, page: await browser.open(request()) }
}

async function codeOf(username: string): Promise<string> {
  const { browser, page } = await consentOf(username)
  return responseParameters(await browser.submitOnly(page, { decision: 'allow' })).code ?? ''
}

const redeem = (code: string) => exchange(server, app, code, { code_verifier: VERIFIER })

function expectNotPublished(page: Page): void {
  expect(page.statusCode).toBe(400)
  expect(page.headers.location).toBeUndefined()
  expect(page.body).toContain(NOT_PUBLISHED)
  expectUnnamed(page)
}

/** Any user may register an app with any name, and must not be able to make this service show that name and lead to their site. */
function expectUnnamed({ body }: Page): void {
  expect(body).not.toContain(input.name)
  expect(body).not.toContain(HOME_PAGE)
}

describe('an app that is not published', () => {
  test('works for its owner', async () => {
    expect((await redeem(await codeOf('alice'))).statusCode).toBe(200)
  })

  test('works for its testers', async () => {
    await addTester({ clientId: app.clientId, username: 'bob' }, alice, deps)
    expect((await redeem(await codeOf('bob'))).statusCode).toBe(200)
  })

  test('tells a tester, whom its owner need not have asked, that it is a draft', async () => {
    await addTester({ clientId: app.clientId, username: 'bob' }, alice, deps)
    expect((await consentOf('bob')).page.body).toContain(DRAFT)
  })

  test('is no draft once it is published', async () => {
    await server.database.query({ name: '', text: 'update clients set published = true', values: [] })
    await until(async () => (await server.deps.authorize.clients.find(app.clientId))?.isUnpublished !== true)
    const { page } = await consentOf('bob')
    expect(page.body).toContain(input.name)
    expect(page.body).not.toContain(DRAFT)
  })

  test.each([
    { name: 'a valid request', change: {} },
    { name: 'prompt=none', change: { prompt: 'none' } },
    { name: 'a request that would be redirected with an error', change: { scope: 'unknown' } },
    { name: 'a redirect URI that is not registered', change: { redirect_uri: 'https://evil.example/' } }
  ])('shows other users a page and never redirects: $name', async ({ change }) => {
    const browser = await signedInBrowser(server, 'mallory')
    expectNotPublished(await browser.get(request(change)))
  })

  test.each([
    { name: 'prompt=none', change: { prompt: 'none' } },
    { name: 'prompt=none and an error', change: { prompt: 'none', scope: 'unknown' } }
  ])('shows anonymous browsers a page and never redirects: $name', async ({ change }) => {
    expectNotPublished(await server.newBrowser().get(request(change)))
  })

  test('is not named on the sign-in page, and refused after it', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(request())
    expect(login.body).not.toContain(input.name)
    expectNotPublished(await browser.submit(login, { username: 'mallory', password: PASSWORD }))
  })

  test('is neither named nor linked on the page about a request that is too long', async () => {
    const page = await server.newBrowser().get(request({ state: 'x'.repeat(8_000) }))
    expect(page.statusCode).toBe(400)
    expectUnnamed(page)
  })

  test('that is requested is still limited', async () => {
    await requestApproval(app.clientId, alice, deps)
    expectNotPublished((await consentOf('mallory')).page)
  })

  test('refuses Allow of a tester who was removed while the page was open', async () => {
    await addTester({ clientId: app.clientId, username: 'bob' }, alice, deps)
    const { browser, page } = await consentOf('bob')
    await removeTester({ clientId: app.clientId, username: 'bob' }, alice, deps)
    expectNotPublished(await browser.submit(page, { decision: 'allow' }))
  })

  test('refuses the code and the refresh token of a tester who was removed', async () => {
    await addTester({ clientId: app.clientId, username: 'bob' }, alice, deps)
    const tokens = pairOf(await redeem(await codeOf('bob')))
    const code = await codeOf('bob')
    await removeTester({ clientId: app.clientId, username: 'bob' }, alice, deps)
    expect((await redeem(code)).json()).toMatchObject({ error: 'invalid_grant' })
    expect((await refresh(server, app, tokens.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
  })

  test('ends tokens and codes when its owner disables it', async () => {
    const tokens = pairOf(await redeem(await codeOf('alice')))
    const code = await codeOf('alice')
    await disableApp(app.clientId, alice, deps)
    await until(async () => (await server.deps.authorize.clients.find(app.clientId))?.disabled === true)
    expect((await redeem(code)).statusCode).toBe(401)
    expect((await refresh(server, app, tokens.refresh_token)).statusCode).toBe(401)
  })
})

describe('a change of the redirect URIs', () => {
  const move = () =>
    changeApp({ clientId: app.clientId, input: { ...input, redirectUris: ['https://new.example/'] } }, alice, deps)

  test('ends a code that was issued for the removed one', async () => {
    const code = await codeOf('alice')
    await move()
    expect((await redeem(code)).json()).toMatchObject({ error: 'invalid_grant' })
  })

  test('ends a pending request for the removed one', async () => {
    const { browser, page } = await consentOf('alice')
    await move()
    await until(async () => {
      const found = await server.deps.authorize.clients.find(app.clientId)
      return found?.redirectUris.includes(REDIRECT_URI) === false
    })
    const answer = await browser.submit(page, { decision: 'allow' })
    expect(answer.statusCode).toBe(400)
    expect(answer.headers.location).toBeUndefined()
  })

  test('asks again if the name changed while the page was open', async () => {
    const { browser, page } = await consentOf('alice')
    await changeApp({ clientId: app.clientId, input: { ...input, name: 'Another Boat' } }, alice, deps)
    await until(async () => (await server.deps.authorize.clients.find(app.clientId))?.name === 'Another Boat')
    const answer = await browser.submit(page, { decision: 'allow' })
    expect(answer.body).toContain('Another Boat')
    expect(answer.headers.location).toBeUndefined()
  })
})
