import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

test('the default scopes change while the page is open: Allow of the old page shows the new scope, and gives no code', async () => {
  await server.createScope('notes.read', { isDefault: true })
  await server.createScope('notes.delete')
  const { clientId } = await server.createClient({ requiredScopes: [], optionalScopes: ['notes.read', 'notes.delete'] })
  const browser = await signedInBrowser(server)
  const page = await browser.open(authorizeUrl(clientId, { scope: undefined }))
  expect(visibleText(page.body)).not.toContain('notes.delete')

  await change('scopes', 'update', 'notes.read', '--no-default')
  await change('scopes', 'update', 'notes.delete', '--default')
  await until(async () => (await server.deps.authorize.validation.scopes.list()).some(isNewDefault))
  const again = await browser.submit(page, { decision: 'allow' })
  expect([new URL(again.url).pathname, again.statusCode]).toEqual(['/consent', 200])
  expect(visibleText(again.body)).toContain('notes.delete')
  expect(String((await browser.submitOnly(again, { decision: 'allow' })).headers.location)).toContain('code=')
})

test('a scope becomes required while the page is open: Allow of the old page does not include it', async () => {
  const scopes = ['files.read', 'files.read:images']
  const { clientId } = await server.createClient({
    requiredScopes: ['files.read'],
    optionalScopes: ['files.read:images']
  })
  const browser = await signedInBrowser(server)
  const page = await browser.open(authorizeUrl(clientId, { scope: scopes.join(' ') }))
  await change('clients', 'update', clientId, '--scope', scopes.join(' '), '--optional-scope', '')
  const { clients } = server.deps.authorize.validation
  await until(async () => (await clients.find(clientId))?.requiredScopes.length === 2)
  const again = await browser.submit(page, { decision: 'allow' })
  expect([new URL(again.url).pathname, again.statusCode]).toEqual(['/consent', 200])
})

async function change(...command: string[]): Promise<void> {
  expect(await runCommand(server.database, command)).toMatchObject({ code: 0, said: '' })
}

function isNewDefault({ name, isDefault }: { name: string; isDefault: boolean }): boolean {
  return name === 'notes.delete' && isDefault
}
