import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField, visibleText } from '../../support/page-content.js'
import { openConsent, postTo } from '../../support/pages.js'

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const OPTIONAL = { requiredScopes: ['files.read'], optionalScopes: ['files.read:images', 'files.read:media'] }

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

async function open(client: Partial<ClientRegistration>, change: Record<string, string | undefined> = {}) {
  const credentials = await server.createClient(client)
  return { ...(await openConsent(server, credentials.clientId, { change })), client: credentials }
}

test('no optional scope is preselected, and names of scopes are in closed details', async () => {
  const { page } = await open(OPTIONAL, { scope: 'files.read files.read:images files.read:media' })
  expect(page.body.match(/type="checkbox"/g)).toHaveLength(2)
  expect(page.body).not.toMatch(/<input[^>]* checked/)
  expect(visibleText(page.body)).toContain('files.read:media')
  expect(visibleText(page.body.replace(/<details[\s\S]*<\/details>/, ''))).not.toContain('files.read')
})

test('a request for one optional scope has no box: the user allows or denies it', async () => {
  const { page, browser, client } = await open(
    { requiredScopes: [], optionalScopes: ['files.read:images'] },
    { scope: 'files.read:images' }
  )
  expect(page.body).not.toContain('type="checkbox"')
  const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
  expect((await exchange(server, client, code)).json().scope).toBe('files.read:images')
})

const ON = { 'scope.files.read:images': 'on', 'scope.files.read:media': 'on' }

describe('the granted scope is the requested scope without the optional scopes that are not ticked', () => {
  test.each<{ name: string; fields: Record<string, string>; scope?: string; granted: string }>([
    { name: 'all ticked', fields: ON, granted: 'files.read files.read:images files.read:media' },
    { name: 'one unticked', fields: { 'scope.files.read:media': 'on' }, granted: 'files.read files.read:media' },
    { name: 'all unticked', fields: {}, granted: 'files.read' },
    { name: 'required ones cannot be left out', fields: { 'scope.files.read': '' }, granted: 'files.read' },
    { name: 'a scope that was not requested', fields: ON, scope: 'files.read', granted: 'files.read' },
    {
      name: 'a scope that is not registered for the client',
      fields: { ...ON, 'scope.files.read:documents': 'on' },
      granted: 'files.read files.read:images files.read:media'
    },
    { name: 'a scope parameter in the form', fields: { scope: 'files.read:documents' }, granted: 'files.read' },
    {
      name: 'a value other than on',
      fields: { 'scope.files.read:images': 'yes', 'scope.files.read:media': 'ON' },
      granted: 'files.read'
    },
    {
      name: 'only optional scopes requested, one ticked',
      fields: { 'scope.files.read:images': 'on' },
      scope: 'files.read:images files.read:media',
      granted: 'files.read:images'
    }
  ])('$name', async ({ fields, scope = 'files.read files.read:images files.read:media', granted }) => {
    const { browser, page, client } = await open(OPTIONAL, { scope })
    const shown = { csrf_token: hiddenField(page.body, 'csrf_token'), question: hiddenField(page.body, 'question') }
    const body = new URLSearchParams({ ...shown, decision: 'allow', ...fields })
    const answer = await postTo(server, browser, page.url, body.toString(), OWN)
    expect(answer.statusCode).toBe(303)
    const { code = '' } = responseParameters(answer)
    expect((await exchange(server, client, code)).json().scope).toBe(granted)
  })
})

describe('Allow without any scope', () => {
  const ALL_OPTIONAL = { scope: 'files.read:images files.read:media', state: 'kept' }
  const pressAllow = async () => {
    const opened = await open(OPTIONAL, ALL_OPTIONAL)
    return { ...opened, again: await opened.browser.submitOnly(opened.page, { decision: 'allow' }) }
  }

  test('shows the page again with a message, and nothing is sent to the client', async () => {
    const { again } = await pressAllow()
    expect(again.statusCode).toBe(422)
    expect(again.headers.location).toBeUndefined()
    expect(again.body).toMatch(/role="alert" id="problem"><p><strong>Nothing is ticked\./)
    expect(again.body.match(/ autofocus/g)).toHaveLength(1)
    expect(visibleText(again.body)).toContain('Signed in as alice Use another account Allow Photo Printer?')
  })

  test('the shown form can be sent with a scope, and twice', async () => {
    const { browser, again, client } = await pressAllow()
    const ticked = { decision: 'allow', 'scope.files.read:media': 'on' }
    const answers = await Promise.all([browser.submitOnly(again, ticked), browser.submitOnly(again, ticked)])
    const [first, second] = answers.map(responseParameters)
    expect([first?.state, second]).toEqual(['kept', first])
    expect((await exchange(server, client, first?.code ?? '')).json().scope).toBe('files.read:media')
  })

  test('Deny still denies, also from the first form', async () => {
    const { browser, page } = await pressAllow()
    expect(responseParameters(await browser.submitOnly(page, { decision: 'deny' })).error).toBe('access_denied')
  })

  test('is Allow if another scope was allowed before', async () => {
    const { client } = await open({ ...OPTIONAL, consent: 'remember' }, { scope: 'files.read' })
    const { browser, page } = await openConsent(server, client.clientId, { change: { scope: 'files.read' } })
    await browser.submitOnly(page, { decision: 'allow' })
    const more = await browser.open(authorizeUrl(client.clientId, { scope: 'files.read files.read:images' }))
    const { code = '' } = responseParameters(await browser.submitOnly(more, { decision: 'allow' }))
    expect((await exchange(server, client, code)).json().scope).toBe('files.read')
  })
})
