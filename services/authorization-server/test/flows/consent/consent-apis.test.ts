import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'

const REPORTS = 'https://reports.example'
const ALL = { requiredScopes: ['files.read', 'reports.read', 'reports.write'] }

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createResourceServer()
  await server.createResourceServer(REPORTS, 'Monthly Reports')
  await server.createScope('reports.read', { audience: REPORTS, isDefault: true })
  await server.createScope('reports.write', { audience: REPORTS })
})
afterAll(() => server.close())

type Change = Record<string, string | undefined>

/** Opens a request and, if the consent page is shown, allows it. */
async function ask(browser: Browser, { clientId }: Credentials, change: Change) {
  const page = await browser.open(authorizeUrl(clientId, change))
  const wasAsked = new URL(page.url).pathname === '/consent'
  const answer = wasAsked ? await browser.submitOnly(page, { decision: 'allow' }) : page
  return { wasAsked, words: wasAsked ? visibleText(page.body) : '', ...responseParameters(answer) } as {
    wasAsked: boolean
    words: string
    code?: string
    error?: string
  }
}

test('no scope: the token has the default scopes of the API (RFC 6749 §3.3)', async () => {
  const client = await server.createClient(ALL)
  const { code = '' } = await ask(await signedInBrowser(server), client, { scope: undefined, resource: REPORTS })
  expect((await exchange(server, client, code)).json().scope).toBe('reports.read')
})

test('the consent page and the connected apps name the API by title and host', async () => {
  const client = await server.createClient({ ...ALL, name: 'Report Reader' })
  const browser = await signedInBrowser(server)
  const { words, code = '' } = await ask(browser, client, { scope: 'reports.read' })
  expect(words).toContain('Applies to Monthly Reports reports.example')
  await exchange(server, client, code)
  const files = await ask(browser, client, {})
  expect(files.words).toContain('Applies to localhost:4100')
  await exchange(server, client, files.code ?? '')
  const apps = visibleText((await browser.open(`${ISSUER}/account/apps`)).body)
  expect(apps).toMatch(/Report Reader.*Applies to localhost:4100 Monthly Reports reports\.example/)
})

test('a consent that is remembered for one API gives no code for another API', async () => {
  const client = await server.createClient({ ...ALL, consent: 'remember' })
  const browser = await signedInBrowser(server)
  expect((await ask(browser, client, {})).wasAsked).toBe(true)
  expect((await ask(browser, client, {})).wasAsked).toBe(false)
  expect((await ask(browser, client, { scope: 'reports.read' })).wasAsked).toBe(true)
  expect((await ask(browser, client, { scope: 'reports.read', resource: `${REPORTS}/` })).wasAsked).toBe(false)
})

test('a scope that moves to another API must be allowed again', async () => {
  await server.createScope('moved.read', { audience: REPORTS })
  const client = await server.createClient({ requiredScopes: ['moved.read'], consent: 'remember' })
  const browser = await signedInBrowser(server)
  await ask(browser, client, { scope: 'moved.read' })
  const text = `update scopes set audience = null where name = 'moved.read'`
  await server.database.query({ name: 'test_move_scope', text, values: [] })
  const { wasAsked, words } = await ask(browser, client, { scope: 'moved.read' })
  expect([wasAsked, words]).toEqual([true, expect.stringContaining('Applies to localhost:4100')])
})

test('the end of access ends the remembered consents for all APIs', async () => {
  const client = await server.createClient({ ...ALL, consent: 'remember' })
  const browser = await signedInBrowser(server)
  for (const scope of ['files.read', 'reports.read']) await ask(browser, client, { scope })
  await server.deps.account.apps.end(await userId(), client.clientId)
  for (const scope of ['files.read', 'reports.read'])
    expect((await ask(browser, client, { scope })).wasAsked).toBe(true)
})

test('a client that is limited to an API gets no code for another one (RFC 8707 §2)', async () => {
  const client = await server.createClient({ ...ALL, audiences: [REPORTS] })
  const browser = await signedInBrowser(server)
  expect(await ask(browser, client, { scope: 'reports.read' })).toHaveProperty('code')
  expect(await ask(browser, client, { resource: AUDIENCE })).toMatchObject({ error: 'invalid_target' })
  expect(await ask(browser, client, {})).toMatchObject({ error: 'invalid_scope' })
})

async function userId(): Promise<string> {
  const text = `select user_id from users where username = 'alice'`
  const rows = await server.database.query<{ user_id: string }>({ name: 'test_alice', text, values: [] })
  return rows[0]?.user_id ?? ''
}
