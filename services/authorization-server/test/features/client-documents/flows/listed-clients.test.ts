import { describe, expect, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { startTestServer } from '../../../support/authorization-server.js'
import { PASSWORD, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'
import { openRequest, requestOf, tokensFor, useDiscovery } from '../support/discovery.js'

const listed = useDiscovery({ CLIENT_ID_METADATA: 'listed', CLIENT_ID_METADATA_ALLOW: 'boat.example localhost' })

describe('CLIENT_ID_METADATA=listed', () => {
  test('a listed host works', async () => {
    expect((await tokensFor(listed, listed.documents.publish('/listed'))).statusCode).toBe(200)
  })

  test('another host is refused before sign-in, without a fetch, and audited', async () => {
    const clientId = 'https://evil.example/client.json'
    const answer = await listed.server.newBrowser().get(requestOf(clientId))
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
    expect(visibleText(answer.body)).toContain('This app is not allowed here')
    const rows = (await auditRows(listed.server)).filter((row) => row.client_id === clientId)
    expect(rows).toEqual([expect.objectContaining({ details: { reason: 'client_id_not_allowed' } })])
  })
})

describe('CLIENT_ID_METADATA=off', () => {
  test('a client id URL is unknown, and the metadata says nothing', async () => {
    const server = await startTestServer()
    const answer = await server.newBrowser().get(requestOf('https://boat.example/client.json'))
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([400, expect.stringContaining('not known here')])
    const metadata = await server.publicServer.inject('/.well-known/oauth-authorization-server')
    expect(metadata.json()).not.toHaveProperty('client_id_metadata_document_supported')
    await server.close()
  })
})

describe('a registered client with a URL as its id', () => {
  test('has priority: nothing is fetched, and its registered scopes count', async () => {
    const clientId = listed.documents.publish('/registered-url')
    await listed.server.createClient({
      clientId,
      type: 'public',
      requiresPkce: true,
      redirectUris: ['https://boat.example/callback']
    })
    const before = listed.documents.requests.length
    const answer = await tokensFor(listed, clientId, { scope: 'files.read' })
    expect(answer.json()).toMatchObject({ scope: 'files.read' })
    expect(listed.documents.requests).toHaveLength(before)
  })
})

const WEBSITE = 'https://evil.example/login'
const PAGE = 'This app’s request cannot be used'
const ERRORS = [
  { name: 'an unknown response_type', change: { response_type: 'x' }, error: 'unsupported_response_type' },
  { name: 'no code_challenge', change: { code_challenge: undefined }, error: 'invalid_request' },
  { name: 'an unknown scope', change: { scope: 'unknown' }, error: 'invalid_scope' },
  { name: 'an unknown resource', change: { resource: 'https://unknown.example' }, error: 'invalid_target' },
  { name: 'prompt=none', change: { prompt: 'none' }, error: 'consent_required' }
]
const open = useDiscovery()
const openAndListed = useDiscovery({ CLIENT_ID_METADATA_ALLOW: 'localhost' })

/** A document with a redirect URI on the web and one on the device. */
const publish = (world: typeof open) =>
  world.documents.publish('/errors', { redirect_uris: [WEBSITE, 'http://127.0.0.1/cb', 'com.example.app:/cb'] })

describe('an error before the decision, of a client whose document no operator listed, with a redirect URI on the web', () => {
  test.each(ERRORS)('$name is a page without redirect and link', async ({ change, error }) => {
    const browser = await signedInBrowser(open.server)
    const clientId = publish(open)
    const answer = await browser.get(requestOf(clientId, { redirect_uri: WEBSITE, ...change }))
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
    expect(visibleText(answer.body)).toContain(PAGE)
    expect(visibleText(answer.body)).toContain(`${error}: `)
    expect(answer.body).not.toMatch(/(href|action|src|content)="[^"]*evil\.example/)
    const reasons = (await auditRows(open.server)).map(({ details }) => details)
    expect(reasons).toContainEqual({ reason: error })
  })

  test('is a page also for a user who has just signed in for the request', async () => {
    const browser = open.server.newBrowser()
    const login = await browser.open(requestOf(publish(open), { redirect_uri: WEBSITE, response_type: 'x' }))
    const answer = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([400, expect.stringContaining(PAGE)])
  })

  test('Deny still redirects, because the user has decided', async () => {
    const { browser, page } = await openRequest(open, publish(open), { redirect_uri: WEBSITE })
    const answer = await browser.submitOnly(page, { decision: 'deny' })
    expect(String(answer.headers.location)).toContain(WEBSITE)
    expect(responseParameters(answer)).toMatchObject({ error: 'access_denied' })
  })
})

describe('an error before the decision redirects', () => {
  test.each([
    { name: 'to a loopback address', world: open, redirectUri: 'http://127.0.0.1:5000/cb' },
    { name: 'to a private-use scheme', world: open, redirectUri: 'com.example.app:/cb' },
    { name: 'of a client that is listed, with open', world: openAndListed, redirectUri: WEBSITE },
    { name: 'of a client that is listed, with listed', world: listed, redirectUri: WEBSITE }
  ])('$name', async ({ world, redirectUri }) => {
    const browser = await signedInBrowser(world.server)
    const request = requestOf(publish(world), { redirect_uri: redirectUri, response_type: 'x' })
    const answer = await browser.get(request)
    expect(answer.statusCode).toBe(303)
    expect(String(answer.headers.location)).toContain(`${redirectUri}?error=unsupported_response_type`)
  })
})
