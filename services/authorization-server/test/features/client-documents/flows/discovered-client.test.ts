import { describe, expect, test } from '@jest/globals'
import { startAdministration } from '../../../support/administration.js'
import { auditRows } from '../../../support/audit-rows.js'
import { AUDIENCE, ISSUER, REDIRECT_URI, until } from '../../../support/authorization-server.js'
import { PKCE } from '../../../support/codes.js'
import { runCommand } from '../../../support/command-line.js'
import { introspect, obtainCode, PASSWORD, post, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { openEndOfAccess, signedInBrowser } from '../../../support/pages.js'
import { createPublicClient, disable, isActive, obtainTokens } from '../../../support/tokens.js'
import {
  APP_CALLBACK,
  codeFor,
  discoveredRows,
  exchangeOf,
  openRequest,
  refreshOf,
  requestOf,
  tokensFor,
  useDiscovery
} from '../support/discovery.js'

const world = useDiscovery()

/** The app gets errors by a redirect to a program on the device; see listed-clients.test.ts for web hosts. */
const ON_DEVICE = { redirect_uri: 'http://127.0.0.1/cb' }

describe('a client that no operator registered, with CLIENT_ID_METADATA=open', () => {
  test('from the request to the token, introspection and refresh; the row is written at Allow', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/whole-flow')
    const browser = server.newBrowser()
    const login = await browser.open(requestOf(clientId))
    expect(visibleText(login.body)).not.toContain('Paper Boat')
    expect(documents.requests).not.toContain('/whole-flow')

    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(consent.statusCode).toBe(200)
    expect(await discoveredRows(world)).toEqual([])
    const answer = await browser.submitOnly(consent, { decision: 'allow' })
    const { code = '', iss } = responseParameters(answer)
    expect(iss).toBe(ISSUER)
    const row = { client_id: clientId, name: 'Paper Boat', refresh_token_max_ttl: 1_209_600 }
    expect(await discoveredRows(world)).toEqual([
      { ...row, redirect_uris: ['https://boat.example/callback', 'http://127.0.0.1/cb'] }
    ])

    const tokens = (await exchangeOf(world, clientId, code)).json()
    expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'notes.read', refresh_token: expect.any(String) })
    const caller = await server.createResourceServer()
    expect((await introspect(server, caller, tokens.access_token)).json()).toMatchObject({
      active: true,
      client_id: clientId,
      aud: AUDIENCE
    })
    expect((await refreshOf(world, clientId, tokens.refresh_token)).statusCode).toBe(200)
    // Sign-in page, consent page and Allow need the document; the token endpoint does not.
    expect(documents.requests.filter((path) => path === '/whole-flow')).toHaveLength(1)
  })

  test('an operator finds, disables and enables it by its URL; a disabled one is refused everywhere', async () => {
    const { server, documents } = world
    const clientId = documents.publish(`/disabled/${'x'.repeat(400)}`)
    const tokens = (await tokensFor(world, clientId)).json()
    const admin = await startAdministration(server)
    const path = `/clients/${encodeURIComponent(clientId)}`
    expect((await admin.call('GET', path)).json()).toMatchObject({ client_id: clientId, origin: 'discovered' })
    const listed = (await admin.call('GET', '/clients?origin=discovered')).json()
    expect(listed.clients.map((each: { client_id: string }) => each.client_id)).toContain(clientId)
    expect((await admin.call('PATCH', path, { name: 'x' })).statusCode).toBe(409)

    expect((await admin.call('POST', `${path}/disable`)).json()).toMatchObject({ disabled: true })
    await until(async () => (await server.deps.authorize.clients.find(clientId))?.disabled === true)
    const { page } = await openRequest(world, clientId)
    expect(page.statusCode).toBe(400)
    expect(visibleText(page.body)).toContain('This app is not allowed here')
    expect((await refreshOf(world, clientId, tokens.refresh_token)).json().error).toBe('invalid_client')

    expect((await admin.call('POST', `${path}/enable`)).json()).toMatchObject({ disabled: false })
    await until(async () => (await server.deps.authorize.clients.find(clientId))?.disabled === false)
    expect((await refreshOf(world, clientId, tokens.refresh_token)).json().error).toBe('invalid_grant')
    expect((await tokensFor(world, clientId)).statusCode).toBe(200)
  })

  test('logo and links of its document are neither fetched nor shown nor stored', async () => {
    const { server, documents } = world
    const address = (name: string) => documents.urlOf(`/branding/${name}`)
    const clientId = documents.publish('/branding', {
      logo_uri: address('logo.png'),
      client_uri: address('home'),
      policy_uri: address('privacy'),
      tos_uri: address('terms')
    })
    const { browser, page } = await openRequest(world, clientId)
    await browser.submitOnly(page, { decision: 'allow' })
    const apps = await browser.open(`${ISSUER}/account/apps`)
    expect([page.body, apps.body].filter((body) => body.includes('/branding/') || body.includes('/logos/'))).toEqual([])
    expect(documents.requests.filter((path) => path.startsWith('/branding/'))).toEqual([])
    expect((await server.deps.admin.clients.clients.find(clientId))?.branding).toEqual({})
  })

  test('a client that is disabled while its consent page is open gets no code', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/disabled-at-allow')
    await tokensFor(world, clientId)
    const { browser, page } = await openRequest(world, clientId)
    await disable(server, 'client', clientId)
    const answer = await browser.submitOnly(page, { decision: 'allow' })
    expect(String(answer.headers.location)).not.toContain('code=')
  })

  test('connected apps show the host of its client id, and end its access; it can revoke its token itself', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/connected')
    const { access_token: accessToken } = (await tokensFor(world, clientId)).json()
    const other = (await tokensFor(world, clientId)).json()
    const revoked = await post(server, '/oauth/revoke', { token: other.access_token, client_id: clientId })
    expect(revoked.statusCode).toBe(200)
    const caller = await server.createResourceServer()
    expect((await introspect(server, caller, other.access_token)).json()).toEqual({ active: false })
    expect((await introspect(server, caller, accessToken)).json()).toMatchObject({ active: true })

    const browser = await signedInBrowser(server)
    const apps = await browser.open(`${ISSUER}/account/apps`)
    expect(visibleText(apps.body)).toContain(`Paper Boat localhost:${documents.port}`)
    await browser.submit(await openEndOfAccess(browser, clientId), {})
    expect((await introspect(server, caller, accessToken)).json()).toEqual({ active: false })
  })

  test('Deny writes no row', async () => {
    const clientId = world.documents.publish('/denied')
    const { browser, page } = await openRequest(world, clientId)
    const answer = await browser.submitOnly(page, { decision: 'deny' })
    expect(responseParameters(answer)).toMatchObject({ error: 'access_denied' })
    expect((await discoveredRows(world)).map(({ client_id }) => client_id)).not.toContain(clientId)
  })

  test('a loopback redirect URI matches with any port', async () => {
    const clientId = world.documents.publish('/loopback')
    const answer = await tokensFor(world, clientId, { redirect_uri: 'http://127.0.0.1:43210/cb' })
    expect(answer.statusCode).toBe(200)
  })

  test('the user is asked each time', async () => {
    const clientId = world.documents.publish('/again')
    await tokensFor(world, clientId)
    const { page } = await openRequest(world, clientId)
    expect(new URL(page.url).pathname).toBe('/consent')
  })

  test('prompt=none without a session is an error page: no address is known', async () => {
    const clientId = world.documents.publish('/none')
    const answer = await world.server.newBrowser().get(requestOf(clientId, { prompt: 'none' }))
    expect(answer.statusCode).toBe(400)
    expect(answer.headers.location).toBeUndefined()
    expect(world.documents.requests).not.toContain('/none')
  })

  test('prompt=none with a session is consent_required', async () => {
    const clientId = world.documents.publish('/none-signed-in')
    const browser = await signedInBrowser(world.server)
    const answer = await browser.get(requestOf(clientId, { ...ON_DEVICE, prompt: 'none' }))
    expect(String(answer.headers.location)).toContain(ON_DEVICE.redirect_uri)
    expect(responseParameters(answer)).toMatchObject({ error: 'consent_required' })
  })

  test('prompt=login makes the user sign in once', async () => {
    const clientId = world.documents.publish('/prompt-login')
    const { browser, page } = await openRequest(world, clientId, { prompt: 'login' })
    expect(new URL(page.url).pathname).toBe('/login')
    const consent = await browser.submit(page, { username: 'alice', password: PASSWORD })
    expect(new URL(consent.url).pathname).toBe('/consent')
  })

  test('a redirect URI that is not in the document is an error page', async () => {
    const clientId = world.documents.publish('/other-redirect')
    const { page } = await openRequest(world, clientId, { redirect_uri: 'https://evil.example/callback' })
    expect(visibleText(page.body)).toContain('wrong return address')
  })

  test('PKCE is required', async () => {
    const clientId = world.documents.publish('/without-pkce')
    const browser = await signedInBrowser(world.server)
    const change = { ...ON_DEVICE, code_challenge: undefined, code_challenge_method: undefined }
    const answer = await browser.get(requestOf(clientId, change))
    expect(responseParameters(answer)).toMatchObject({ error: 'invalid_request' })
  })
})

describe('scopes of clients that no operator registered', () => {
  test.each([
    ['without scope, the default scopes that are discoverable', undefined, 'notes.read'],
    ['offline_access is dropped', 'notes.write offline_access', 'notes.write'],
    ['offline_access alone counts as no scope', 'offline_access', 'notes.read']
  ])('%s', async (_what, scope, expected) => {
    const clientId = world.documents.publish(`/scope/${encodeURIComponent(String(scope))}`)
    const answer = await tokensFor(world, clientId, { scope })
    expect(answer.json()).toMatchObject({ scope: expected, refresh_token: expect.any(String) })
  })

  test.each(['notes.delete', 'files.read', 'notes.read unknown'])('%s is invalid_scope', async (scope) => {
    const clientId = world.documents.publish('/not-discoverable')
    const browser = await signedInBrowser(world.server)
    const answer = await browser.get(requestOf(clientId, { ...ON_DEVICE, scope }))
    expect(responseParameters(answer)).toMatchObject({ error: 'invalid_scope' })
  })
})

test('audit: the first Allow, and a later one with another document, record what is new', async () => {
  const { server, documents } = world
  const clientId = documents.publish('/changes', { client_name: 'First name' })
  await tokensFor(world, clientId)
  documents.publish('/changes', { client_name: 'Second name', redirect_uris: [APP_CALLBACK] })
  await server.redis.flushdb()
  await tokensFor(world, clientId)
  await tokensFor(world, clientId)
  const rows = (await auditRows(server)).filter(({ client_id }) => client_id === clientId)
  const changes = rows.filter(({ event }) => /^client_/.test(event)).map(({ event, details }) => ({ event, details }))
  expect(changes).toEqual([
    {
      event: 'client_discovered',
      details: { name: 'First name', redirectUris: ['https://boat.example/callback', 'http://127.0.0.1/cb'] }
    },
    {
      event: 'client_document_changed',
      details: {
        changes: {
          client_name: { from: 'First name', to: 'Second name' },
          redirect_uris: {
            from: ['https://boat.example/callback', 'http://127.0.0.1/cb'],
            to: ['https://boat.example/callback']
          }
        }
      }
    }
  ])
})

test('server metadata says that documents are supported', async () => {
  const answer = await world.server.publicServer.inject('/.well-known/oauth-authorization-server')
  expect(answer.json()).toMatchObject({ client_id_metadata_document_supported: true })
})

describe('later requests of a client', () => {
  // The fetches of one process for a user are limited.
  const world = useDiscovery()

  test.each([
    ['is dropped', 'notes.read offline_access'],
    ['alone counts as no scope', 'offline_access']
  ])('offline_access of a refresh %s, also in the retry window', async (_what, scope) => {
    const clientId = world.documents.publish(`/refresh/${scope.length}`)
    const { refresh_token: refreshToken } = (await tokensFor(world, clientId)).json()
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId, scope }
    const first = await post(world.server, '/token', form)
    expect(first.json()).toMatchObject({ scope: 'notes.read' })
    expect((await post(world.server, '/token', form)).json().access_token).toBe(first.json().access_token)
  })

  test('a scope that an operator marks as not discoverable is lost: a grant for it only ends, others keep the rest', async () => {
    await world.server.createScope('notes.share', { isDiscoverable: true })
    const clientId = world.documents.publish('/refresh/lost')
    const obtain = async (scope: string) => {
      const { browser, page } = await openRequest(world, clientId, { scope })
      const ticked = { 'scope.notes.read': 'on', 'scope.notes.share': 'on' }
      const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow', ...ticked }))
      return (await exchangeOf(world, clientId, code)).json().refresh_token
    }
    const [both, one] = [await obtain('notes.read notes.share'), await obtain('notes.share')]
    const text = `update scopes set is_discoverable = false where name = 'notes.share'`
    await world.server.database.query({ name: 'test_hide_scope', text, values: [] })
    const form = { grant_type: 'refresh_token', client_id: clientId }
    expect((await post(world.server, '/token', { ...form, refresh_token: both })).json()).toMatchObject({
      scope: 'notes.read'
    })
    expect((await post(world.server, '/token', { ...form, refresh_token: one })).json().error).toBe('invalid_grant')
  })

  test('offline_access of a refresh is invalid_scope for a registered client', async () => {
    const client = await createPublicClient(world.server)
    const { refresh_token: refreshToken } = await obtainTokens(world.server, client)
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: client.clientId }
    const answer = await post(world.server, '/token', { ...form, scope: 'files.read offline_access' })
    expect(answer.json()).toMatchObject({ error: 'invalid_scope' })
  })

  test('a discovered client that an operator deleted and a user allows again: its earlier tokens stay ended', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/deleted')
    const before = (await tokensFor(world, clientId)).json()
    const admin = await startAdministration(server)
    expect((await admin.call('DELETE', `/clients/${encodeURIComponent(clientId)}`)).statusCode).toBe(200)
    await until(async () => (await server.deps.authorize.clients.find(clientId)) === undefined)

    const after = (await tokensFor(world, clientId)).json()
    const caller = await server.createResourceServer()
    expect((await introspect(server, caller, before.access_token)).json()).toEqual({ active: false })
    expect((await refreshOf(world, clientId, before.refresh_token)).json().error).toBe('invalid_grant')
    expect((await introspect(server, caller, after.access_token)).json()).toMatchObject({ active: true })
    expect((await refreshOf(world, clientId, after.refresh_token)).statusCode).toBe(200)
  })

  test('a code from before the deletion of a discovered client is invalid_grant after a user allows the client again', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/deleted-before-exchange')
    const before = await codeFor(world, clientId)
    await runCommand(server.database, ['clients', 'delete', clientId, '--yes'])
    await until(async () => (await server.deps.authorize.clients.find(clientId)) === undefined)

    const after = await codeFor(world, clientId)
    expect((await exchangeOf(world, clientId, before)).json().error).toBe('invalid_grant')
    expect((await exchangeOf(world, clientId, after)).statusCode).toBe(200)
  })

  async function deleteAndCreate(clientId: string): Promise<void> {
    const { server } = world
    await runCommand(server.database, ['clients', 'delete', clientId, '--yes'])
    const settings = ['--public', '--name', 'Again', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
    const created = ['clients', 'create', ...settings, '--client-id', clientId]
    expect(await runCommand(server.database, created)).toMatchObject({ code: 0, said: '' })
    await until(async () => (await server.deps.authorize.clients.find(clientId))?.name === 'Again')
  }

  test('a code from before the deletion of a registered client is invalid_grant after the client is created again', async () => {
    const client = await createPublicClient(world.server)
    const code = await obtainCode(world.server, client, { change: PKCE })
    await deleteAndCreate(client.clientId)
    expect((await exchangeOf(world, client.clientId, code, REDIRECT_URI)).json().error).toBe('invalid_grant')
  })

  test('a registered client that is deleted and created again under its id: its earlier tokens stay ended', async () => {
    const { server } = world
    const client = await createPublicClient(server)
    const before = await obtainTokens(server, client)
    await deleteAndCreate(client.clientId)

    const caller = await server.createResourceServer()
    expect(await isActive(server, caller, before.access_token)).toBe(false)
    expect((await refreshOf(world, client.clientId, before.refresh_token)).statusCode).toBe(400)
    const after = await obtainTokens(server, client)
    expect(await isActive(server, caller, after.access_token)).toBe(true)
  })
})
