import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { signOut } from '../../support/pages.js'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

const SCOPES = {
  requiredScopes: ['files.read:images'],
  optionalScopes: ['files.read:documents', 'files.read:media']
}

/** A browser in which alice has allowed a client the images before. */
async function afterFirstConsent(change: Partial<ClientRegistration> = {}) {
  const client = await server.createClient({ ...SCOPES, consent: 'remember', ...change })
  const browser = server.newBrowser()
  const ask = (scope: string) => browser.open(authorizeUrl(client.clientId, { scope }))
  const login = await ask('files.read:images')
  const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
  await browser.submitOnly(consent, { decision: 'allow' })
  return { client, browser, ask }
}

const headings = (html: string) => [...html.matchAll(/<h2[^>]*>([^<]+)<\/h2>/g)].map(([, text]) => text)

test('scopes that were allowed before are not asked again', async () => {
  const { ask } = await afterFirstConsent()
  const answer = await ask('files.read:images')
  expect(responseParameters(answer).code).toMatch(/^vk_ac_/)
})

test('only the new scope is asked; the earlier scope is listed as allowed and is in the token', async () => {
  const { client, browser, ask } = await afterFirstConsent()
  const page = await ask('files.read:images files.read:documents')
  expect(headings(page.body)).toEqual(['Tick what you want to allow', 'You have allowed this before'])
  const ticked = { decision: 'allow', 'scope.files.read:documents': 'on' }
  const { code = '' } = responseParameters(await browser.submitOnly(page, ticked))
  expect((await exchange(server, client, code)).json().scope).toBe('files.read:images files.read:documents')
})

test('not ticking a new scope does not remove the earlier one', async () => {
  const { client, browser, ask } = await afterFirstConsent()
  const page = await ask('files.read:images files.read:documents')
  const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
  expect((await exchange(server, client, code)).json().scope).toBe('files.read:images')
})

test('another user of the same browser is asked', async () => {
  await server.createUser('bob', PASSWORD)
  const { client, browser } = await afterFirstConsent()
  await signOut(browser)
  const login = await browser.open(authorizeUrl(client.clientId, { scope: 'files.read:images' }))
  const page = await browser.submit(login, { username: 'bob', password: PASSWORD })
  expect(page.body).toContain('value="allow"')
})

test('a client that does not remember consents: the user is asked each time', async () => {
  const { ask } = await afterFirstConsent({ consent: 'ask' })
  expect((await ask('files.read:images')).body).toContain('value="allow"')
})

test('a public client: the user is asked each time, also if its record says remember (RFC 8252 §8.6)', async () => {
  const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
  const client = await server.createClient({ ...SCOPES, consent: 'remember', type: 'public', requiresPkce: true })
  const browser = server.newBrowser()
  const url = authorizeUrl(client.clientId, { scope: 'files.read:images', ...pkce })
  const consent = await browser.submit(await browser.open(url), { username: 'alice', password: PASSWORD })
  await browser.submitOnly(consent, { decision: 'allow' })
  const again = await browser.open(url)
  expect(again.body).toContain('value="allow"')
  expect(headings(again.body)).toEqual(['It wants to'])
})
