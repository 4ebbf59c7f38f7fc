import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { changeApp } from '../../../../src/features/developer-apps/change-app.js'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { requestApproval } from '../../../../src/features/developer-apps/request-approval.js'
import type { NewClient } from '../../../../src/storage/postgres/clients.js'
import { startAdministration } from '../../../support/administration.js'
import { startTestServer, type TestServer, until } from '../../../support/authorization-server.js'
import { PKCE } from '../../../support/codes.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'
import { actorOf, appInput, ownAppDeps, registerApp, releaseScope } from '../support/developer-apps.js'

const WEBSITE = 'https://evil.example/login'
const HOME_PAGE = 'https://evil.example/'
const ERRORS = [
  { name: 'an unknown response_type', change: { response_type: 'x' } },
  { name: 'no code_challenge', change: { code_challenge: undefined } },
  { name: 'an unknown scope', change: { scope: 'unknown' } },
  { name: 'prompt=none', change: { prompt: 'none' } }
]

let server: TestServer
let alice: Actor
const open = () => ownAppDeps(server, 'open')

beforeAll(async () => {
  server = await startTestServer({ DEVELOPER_APPS: 'open' })
  await releaseScope(server, 'notes.read')
  await until(async () => (await server.deps.scopes.list()).some(({ name }) => name === 'notes.read'))
  alice = await actorOf(server, { userId: await server.createUser('alice', PASSWORD), username: 'alice' })
  await server.createUser('bob', PASSWORD)
})
beforeEach(async () => {
  await server.database.query({ name: '', text: 'delete from clients', values: [] })
  await server.database.query({ name: '', text: 'delete from app_registrations', values: [] })
})
afterAll(() => server.close())

/** Registers an app of alice. @returns its client id, once requests find it */
async function newApp(deps: OwnAppDeps, redirectUris: readonly string[] = [WEBSITE]): Promise<string> {
  const { clientId } = await registerApp(alice, deps, { redirectUris, branding: { homePage: HOME_PAGE } })
  await untilClient(clientId, (client) => client !== undefined)
  return clientId
}

async function untilClient(clientId: string, isReached: (client: NewClient | undefined) => boolean): Promise<void> {
  await until(async () => isReached(await server.deps.authorize.clients.find(clientId)))
}

const requestOf = (clientId: string, change: Record<string, string | undefined> = {}) =>
  authorizeUrl(clientId, { scope: 'notes.read', redirect_uri: WEBSITE, ...PKCE, ...change })

/** Approves the app as it is. */
async function approve(clientId: string): Promise<void> {
  await requestApproval(clientId, alice, ownAppDeps(server, 'approved'))
  const { call } = await startAdministration(server, randomUUID())
  const { revision } = (await call('GET', `/apps/${clientId}`)).json<{ revision: number }>()
  expect((await call('POST', `/apps/${clientId}/approve`, { revision })).statusCode).toBe(200)
}

describe('an app that no operator has seen (RFC 9700 §4.11.2)', () => {
  test.each(ERRORS)('gets no redirect before a decision: $name, anonymous', async ({ change }) => {
    const answer = await server.newBrowser().get(requestOf(await newApp(open()), change))
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
    expect(answer.body).not.toMatch(/(href|action|src|content)="[^"]*evil\.example/)
  })

  test.each(ERRORS)('gets no redirect before a decision: $name, signed in', async ({ change }) => {
    const browser = await signedInBrowser(server, 'bob')
    const answer = await browser.get(requestOf(await newApp(open()), change))
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
  })

  test.each(ERRORS)('gets no redirect to its owner while it is a draft: $name', async ({ change }) => {
    const browser = await signedInBrowser(server, 'alice')
    const answer = await browser.get(requestOf(await newApp(ownAppDeps(server, 'approved')), change))
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
  })

  test('is not linked on the page about another redirect URI', async () => {
    const request = requestOf(await newApp(open()), { redirect_uri: 'https://other.example/' })
    const { body } = await server.newBrowser().get(request)
    expect(body).not.toContain(HOME_PAGE)
  })

  test('gets a redirect after Deny', async () => {
    const browser = await signedInBrowser(server, 'bob')
    const page = await browser.open(requestOf(await newApp(open())))
    const answer = await browser.submitOnly(page, { decision: 'deny' })
    expect(responseParameters(answer)).toMatchObject({ error: 'access_denied' })
  })

  test('gets a redirect to a program on the device', async () => {
    const clientId = await newApp(open(), ['http://127.0.0.1/cb'])
    const request = requestOf(clientId, { redirect_uri: 'http://127.0.0.1:5000/cb', response_type: 'x' })
    const answer = await server.newBrowser().get(request)
    expect(String(answer.headers.location)).toContain('http://127.0.0.1:5000/cb?error=')
  })
})

describe('an app whose redirect URIs an operator has seen', () => {
  const wrong = { response_type: 'x' }

  test('gets the redirect, after approval', async () => {
    const clientId = await newApp(ownAppDeps(server, 'approved'))
    await approve(clientId)
    await untilClient(clientId, (client) => client?.isUnpublished !== true)
    const answer = await server.newBrowser().get(requestOf(clientId, wrong))
    expect(String(answer.headers.location)).toContain(`${WEBSITE}?error=unsupported_response_type`)
  })

  test('gets the redirect, after an operator verified its owner', async () => {
    const clientId = await newApp(open())
    const text = 'update clients set verified_at = now() where client_id = $1'
    await server.database.query({ name: '', text, values: [clientId] })
    await untilClient(clientId, (client) => client?.verified === true)
    const answer = await server.newBrowser().get(requestOf(clientId, wrong))
    expect(String(answer.headers.location)).toContain(WEBSITE)
  })

  test('gets no redirect to an address that its owner added later without approval', async () => {
    const clientId = await newApp(ownAppDeps(server, 'approved'))
    await approve(clientId)
    const input = appInput({ redirectUris: [WEBSITE, 'https://new.example/'] })
    expect(await changeApp({ clientId, input }, alice, open())).toEqual({ kind: 'changed' })
    await untilClient(clientId, (client) => client?.redirectUris.length === 2)
    const answer = await server
      .newBrowser()
      .get(requestOf(clientId, { ...wrong, redirect_uri: 'https://new.example/' }))
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([400, expect.stringContaining('cannot be used')])
  })
})
