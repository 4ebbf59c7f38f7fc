import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, startAdministration } from '../../support/administration.js'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { type Access, browserAt, codeAtOnce, openAccess, openGrant } from '../../support/endings.js'
import { authorizeUrl, introspect, responseParameters } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { openEndOfAccess, signOut } from '../../support/pages.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { isActive } from '../../support/tokens.js'

// The statement is executed, its response is lost, the request gets 503, and the client or user repeats it (docs/limits.md, "When
// a store stalls"). Exchange, refresh and revocation have tests of their own.

let server: TestServer
let shaky: TestServer
let proxy: PostgresProxy
let admin: Administration
let resourceServer: Credentials
let access: Access

beforeAll(async () => {
  server = await startTestServer({ CODE_TTL: '29' })
  proxy = await startPostgresProxy(server.config.databaseUrl)
  shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  admin = await startAdministration(shaky)
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  access = await openAccess(server)
})
afterEach(() => proxy.repair())
afterAll(async () => {
  await shaky.close()
  await proxy.close()
  await server.close()
})

const rememberedScope = () =>
  server.deps.consent.consents.findScope({
    userId: access.userId,
    clientId: access.client.clientId,
    audience: AUDIENCE
  })

test('Allow: the consent is stored once, and the same form gets a code that works', async () => {
  const browser = browserAt(shaky, access.browser)
  const page = await browser.open(authorizeUrl(access.client.clientId, { scope: 'files.read:images' }))
  proxy.loseAnswerTo('remember_consent')
  expect((await browser.submitOnly(page, { decision: 'allow' })).statusCode).toBe(503)
  const remembered = await rememberedScope()
  expect(remembered).toContain('files.read:images')
  const { code } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
  expect(await openGrant(server, access, code)).toBeDefined()
  expect((await rememberedScope()).toSorted()).toEqual([...remembered].toSorted())
})

test('disconnecting an app: its tokens have ended, and the page shows it', async () => {
  const browser = browserAt(shaky, access.browser)
  const page = await openEndOfAccess(browser, access.client.clientId)
  proxy.loseAnswerTo('end_connected_app')
  expect((await browser.submitOnly(page, {})).statusCode).toBe(503)
  expect(await isActive(server, resourceServer, access.tokens.access_token)).toBe(false)
  expect(await codeAtOnce(server, access)).toBeUndefined()
  const repeated = await browser.submit(page, {})
  expect([repeated.statusCode, repeated.body]).toEqual([200, expect.not.stringContaining(access.client.clientId)])
})

test('signing out everywhere: all sessions have ended, and the page shows it', async () => {
  const browser = browserAt(shaky, access.browser)
  proxy.loseAnswerTo('end_sessions')
  expect((await signOut(browser, { everywhere: 'on' })).statusCode).toBe(503)
  const after = await browserAt(server, access.browser).open(`${server.config.issuer}/account/apps`)
  expect(after.url).toContain('/login')
})

test('introspection: 503, and the repeated request is active', async () => {
  proxy.loseAnswerTo('find_for_introspection')
  expect((await introspect(shaky, resourceServer, access.tokens.access_token)).statusCode).toBe(503)
  expect(await isActive(shaky, resourceServer, access.tokens.access_token)).toBe(true)
})

describe('administration', () => {
  const eventsOf = async (event: string) =>
    (await changesIn(server)).filter((row) => row.event === event && row.client_id === access.client.clientId)

  test('update: changed and audited; the repeated one has the same result and is not audited again', async () => {
    const path = `/clients/${access.client.clientId}`
    proxy.loseAnswerTo('update_client')
    expect((await admin.call('PATCH', path, { name: 'New name' })).statusCode).toBe(503)
    const repeated = await admin.call('PATCH', path, { name: 'New name' })
    expect([repeated.statusCode, repeated.json()]).toEqual([200, expect.objectContaining({ name: 'New name' })])
    expect(await eventsOf('client_updated')).toHaveLength(1)
  })

  test('disable: tokens have ended; the repeated one has the same result and is not audited again', async () => {
    const path = `/clients/${access.client.clientId}/disable`
    proxy.loseAnswerTo('disable_client')
    expect((await admin.call('POST', path)).statusCode).toBe(503)
    expect(await isActive(server, resourceServer, access.tokens.access_token)).toBe(false)
    expect((await admin.call('POST', path)).statusCode).toBeLessThan(300)
    expect(await eventsOf('client_disabled')).toHaveLength(1)
  })

  test('revoking grants: they have ended; the repeated one finds none', async () => {
    const filter = { user_id: access.userId, client_id: access.client.clientId }
    proxy.loseAnswerTo('revoke_grants_of_user_to_client')
    expect((await admin.call('POST', '/grants/revoke', filter)).statusCode).toBe(503)
    expect(await isActive(server, resourceServer, access.tokens.access_token)).toBe(false)
    const repeated = await admin.call('POST', '/grants/revoke', filter)
    expect([repeated.statusCode, repeated.json()]).toEqual([200, expect.objectContaining({ ended_grants: 0 })])
    expect(await eventsOf('grants_revoked')).toHaveLength(1)
  })

  test('create: a client exists whose secret was not shown; the repeated one makes a second', async () => {
    const client = { name: 'Twice', redirect_uris: ['https://twice.example/cb'], scope: 'files.read' }
    proxy.loseAnswerTo('create_client')
    expect((await admin.call('POST', '/clients', client)).statusCode).toBe(503)
    expect((await admin.call('POST', '/clients', client)).statusCode).toBe(201)
    const { clients } = (await admin.call('GET', '/clients?limit=1000')).json()
    expect(clients.filter(({ name }: { name: string }) => name === 'Twice')).toHaveLength(2)
  })
})
