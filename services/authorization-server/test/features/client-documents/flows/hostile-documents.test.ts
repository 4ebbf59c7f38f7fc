import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { startTestServer } from '../../../support/authorization-server.js'
import { deleteKeys } from '../../../support/delete-keys.js'
import { APP_HOST, type Respond, sendJson } from '../../../support/document-server.js'
import { dumpPostgres } from '../../../support/dump-stores.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'
import { stopMonotonicClock } from '../../../support/stopped-timers.js'
import {
  discoveredRows,
  featuresReaching,
  openRequest,
  refreshOf,
  requestOf,
  tokensFor,
  useDiscovery
} from '../support/discovery.js'

const world = useDiscovery()
let internal: { server: Server; connections: number; url: string }

beforeAll(async () => {
  internal = await startInternalListener()
})
afterAll(() => void internal?.server.close())

/** A program of the internal network. */
async function startInternalListener() {
  const listener = { server: createServer(), connections: 0, url: '' }
  listener.server.on('connection', (socket) => {
    listener.connections += 1
    socket.destroy()
  })
  listener.server.listen(0, '127.0.0.1')
  await once(listener.server, 'listening')
  const { port } = listener.server.address() as { port: number }
  listener.url = `https://localhost:${port}/`
  return listener
}

const JSON_TYPE = { 'content-type': 'application/json' }
const raw =
  (text: string): Respond =>
  (response) =>
    void response.writeHead(200, JSON_TYPE).end(text)

describe('a hostile document: an error page without a redirect, the exact reason in audit, no row', () => {
  const thousand = Array.from({ length: 1_000 }, (_, index) => `https://a.example/${index}`)
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }

  test.each([
    ['a thousand redirect URIs', { redirect_uris: thousand }, 'document_too_large', 'larger than 5120 bytes'],
    [
      '21 redirect URIs',
      { redirect_uris: thousand.slice(0, 21) },
      'document_member_redirect_uris',
      'more than 20 URIs'
    ],
    ['a private key', { jwks: { keys: [key] } }, 'document_member_jwks', 'private or symmetric key'],
    ['a secret', { client_secret: 'x' }, 'document_member_client_secret', 'must be absent'],
    [
      'a bidi name',
      { client_name: 'Boat\u202egnp' },
      'document_member_client_name',
      'direction of text|text direction'
    ],
    ['the id of another', { client_id: 'https://a.example/c' }, 'document_member_client_id', 'URL of the document'],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'document_member_redirect_uris', 'index 0']
  ] as const)('%s', async (_what, change, reason, words) => {
    const clientId = world.documents.publish(`/hostile/${reason}/${Math.random()}`, change)
    await expectRefusal(clientId, 'The app’s description is not valid', reason, words)
  })

  test.each([
    [
      'a redirect',
      ((r) => r.writeHead(302, { location: internal.url }).end()) as Respond,
      'document_redirect',
      'Redirects'
    ],
    ['a missing document', ((r) => r.writeHead(404).end()) as Respond, 'document_missing', '404'],
    ['no JSON', raw('<html></html>'), 'document_not_json', 'JSON object'],
    ['JSON of another type', raw('[]'), 'document_not_json', 'JSON object'],
    ['compression', sendJson({}, { 'content-encoding': 'br' }), 'document_encoded', 'Content-Encoding']
  ] as const)('%s', async (_what, respond, reason, words) => {
    const path = `/hostile/${Math.random()}`
    world.documents.respond(path, respond)
    await expectRefusal(world.documents.urlOf(path), 'The app’s description is not valid', reason, words)
  })

  test.each([
    ['status 503', ((r) => r.writeHead(503).end()) as Respond, 'document_server_error'],
    ['a broken connection', ((r) => r.socket?.destroy()) as Respond, 'document_connection_failed']
  ] as const)('%s: the page shows that the server of the app does not respond', async (_what, respond, reason) => {
    const path = `/hostile/${Math.random()}`
    world.documents.respond(path, respond)
    await expectRefusal(world.documents.urlOf(path), 'This app does not respond', reason, 'Try again')
  })

  test.each([
    ['a query', '/client?a=b'],
    ['a fragment', '/client#a'],
    ['a dot segment', '/a/%2e%2e/client'],
    ['no path', '/']
  ])('a client id with %s is not fetched', async (_what, path) => {
    const before = world.documents.connections()
    const { page } = await openRequest(world, world.documents.urlOf(path))
    expect(page.statusCode).toBe(400)
    expect(visibleText(page.body)).toContain('client_id must')
    expect(world.documents.connections()).toBe(before)
  })
})

async function expectRefusal(clientId: string, title: string, reason: string, words: string): Promise<void> {
  const browser = await signedInBrowser(world.server)
  const answer = await browser.get(requestOf(clientId))
  expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
  expect(visibleText(answer.body)).toContain(title)
  expect(visibleText(answer.body)).toMatch(new RegExp(words))
  const rows = (await auditRows(world.server)).filter((row) => row.client_id === clientId)
  expect(rows).toEqual([
    expect.objectContaining({ event: 'authorization_refused', details: expect.objectContaining({ reason }) })
  ])
  expect((await discoveredRows(world)).map(({ client_id }) => client_id)).not.toContain(clientId)
}

describe('documents that change', () => {
  test('a document that changes while the consent page is open is shown again before Allow counts', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/swap', { client_name: 'Harmless' })
    const { browser, page } = await openRequest(world, clientId)
    documents.publish('/swap', { client_name: 'Bank' })
    await deleteKeys(server, 'vk:client-document:*')
    const again = await browser.submit(page, { decision: 'allow' })
    expect(visibleText(again.body)).toContain('Bank')
    expect(visibleText(again.body)).toContain('Please decide again')
    expect(await discoveredRows(world)).not.toContainEqual(expect.objectContaining({ client_id: clientId }))
    const allowed = await browser.submitOnly(again, { decision: 'allow' })
    expect(String(allowed.headers.location)).toContain('code=')
  })

  test('a withdrawn document: no new authorization; refresh still works', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/withdrawn')
    const tokens = (await tokensFor(world, clientId)).json()
    documents.respond('/withdrawn', (response) => void response.writeHead(410).end())
    await deleteKeys(server, 'vk:client-document:*')
    const { page } = await openRequest(world, clientId)
    expect(page.statusCode).toBe(400)
    expect((await refreshOf(world, clientId, tokens.refresh_token)).statusCode).toBe(200)
  })
})

describe('internal addresses', () => {
  test('a redirect, a name that resolves to it, and a literal address open no connection', async () => {
    const { port } = internal.server.address() as { port: number }
    // Without CLIENT_ID_METADATA_ALLOW_LOOPBACK, as in production.
    const reach = { resolve: async () => [{ address: '127.0.0.1', family: 4 } as const], ca: world.documents.ca }
    const server = await startTestServer({ CLIENT_ID_METADATA: 'open' }, undefined, featuresReaching(reach))
    await server.createUser('alice', PASSWORD)
    const hosts = [`${APP_HOST}:${port}`, `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, '169.254.169.254']
    for (const host of hosts) {
      const { page } = await openRequest({ server }, `https://${host}/client`)
      expect(page.statusCode).toBe(400)
    }
    await server.close()
    const path = '/redirect-inside'
    world.documents.respond(path, (response) => void response.writeHead(307, { location: internal.url }).end())
    await openRequest(world, world.documents.urlOf(path))
    expect(internal.connections).toBe(0)
    // The listener counts: this connection is its first.
    await fetch(internal.url).catch(() => {})
    expect(internal.connections).toBe(1)
  })
})

test('100 parallel requests of users share one fetch', async () => {
  const { documents } = world
  const clientId = documents.publish('/parallel')
  const browser = await signedInBrowser(world.server)
  const answers = await Promise.all(Array.from({ length: 100 }, () => browser.get(requestOf(clientId))))
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 303))
  expect(documents.requests.filter((path) => path === '/parallel')).toHaveLength(1)
})

test('a fetch that waits delays no other request', async () => {
  const { server, documents } = world
  let finish = () => {}
  const asked = new Promise<void>((resolve) => {
    documents.respond('/waiting', (response) => {
      finish = () => void response.writeHead(500).end()
      resolve()
    })
  })
  await server.createUser('bob', PASSWORD)
  const bob = await signedInBrowser(server, 'bob')
  const waiting = bob.get(requestOf(documents.urlOf('/waiting')))
  await asked
  const { clientId } = await server.createClient()
  const other = await openRequest(world, clientId, { redirect_uri: undefined })
  expect(other.page.statusCode).toBe(400)
  expect((await server.publicServer.inject('/.well-known/oauth-authorization-server')).statusCode).toBe(200)
  finish()
  expect((await waiting).statusCode).toBe(400)
})

test('the 21st fetch of a user in a minute is 429 with Retry-After', async () => {
  const { server, documents } = world
  await server.createUser('mallory', PASSWORD)
  const browser = await signedInBrowser(server, 'mallory')
  const statuses: number[] = []
  // Otherwise the minute ends before the last fetch on a slow machine.
  const clock = stopMonotonicClock()
  for (let index = 0; index < 21; index++) {
    const answer = await browser.get(requestOf(documents.urlOf(`/none/${index}`)))
    statuses.push(answer.statusCode)
    if (answer.statusCode === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  clock.restart()
  expect(statuses.at(-1)).toBe(429)
})

describe('floods of client ids', () => {
  // Its own process, because the fetches of a process for a user are limited.
  const world = useDiscovery()

  /** `e2e/client-ids-flood.mjs` sends 100,000. */
  const IDS = 200

  /** All rows of Postgres except audit events, and the keys of Redis. */
  async function stored() {
    const { audit_events: _audit, ...tables } = await dumpPostgres(world.server)
    return { tables, keys: (await world.server.redis.keys('*')).sort() }
  }

  const idAt = (index: number) => world.documents.urlOf(`/flood/${index}`)

  test('200 client id URLs of anonymous requests: no connection, no row, no key; then an app works', async () => {
    const before = await stored()
    const statuses = new Set<number>()
    for (let index = 0; index < IDS; index++) {
      const answer = await world.server.newBrowser().get(requestOf(idAt(index)))
      statuses.add(answer.statusCode)
    }
    expect([...statuses]).toEqual([303])
    expect(world.documents.connections()).toBe(0)
    expect(await stored()).toEqual(before)
    const clientId = world.documents.publish('/after-the-flood')
    expect((await tokensFor(world, clientId)).statusCode).toBe(200)
  })

  test('60 client id URLs of one user: at most 20 fetches, no row; an app that is known works', async () => {
    const clientId = world.documents.publish('/known')
    await tokensFor(world, clientId)
    const rows = (await stored()).tables.clients
    const connections = world.documents.connections()
    const browser = await signedInBrowser(world.server)
    // Otherwise a second minute begins on a slow machine.
    const clock = stopMonotonicClock()
    for (let index = 0; index < 60; index++) await browser.get(requestOf(idAt(index)))
    clock.restart()
    expect(world.documents.connections() - connections).toBeLessThanOrEqual(20)
    expect((await stored()).tables.clients).toEqual(rows)
    expect((await world.server.redis.keys('vk:client-document-failure:*')).length).toBeLessThanOrEqual(20)
    expect((await tokensFor(world, clientId)).statusCode).toBe(200)
  })

  test('invented client id URLs at /token: invalid_client, and nothing is fetched', async () => {
    const connections = world.documents.connections()
    const answer = await world.server.publicServer.inject({
      method: 'POST',
      url: '/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ grant_type: 'authorization_code', client_id: idAt(0), code: 'x' }).toString()
    })
    expect(answer.json().error).toBe('invalid_client')
    expect(world.documents.connections()).toBe(connections)
  })
})
