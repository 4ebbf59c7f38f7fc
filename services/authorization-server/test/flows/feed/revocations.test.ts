import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { countOf, epochOf, type Subscription, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { grantFor } from '../../support/feed-grants.js'
import {
  authorizeUrl,
  basic,
  bodyCredentials,
  exchange,
  obtainCode,
  PASSWORD,
  post,
  refresh
} from '../../support/flow.js'
import { openEndOfAccess } from '../../support/pages.js'
import { deleteRow, disable, introspectionOf, obtainTokens, pairOf } from '../../support/tokens.js'

const NONCE = 'a-nonce-of-a-guard'

let server: TestServer
let client: Credentials
let resourceServer: Credentials
let open: Subscription[] = []

beforeAll(async () => {
  server = await startTestServer({ REFRESH_RETRY_WINDOW: '0' })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
  await startChannel(server)
})
afterEach(async () => {
  for (const { request } of open) request.destroy()
  open = []
})
afterAll(async () => {
  await server.deps.channel.close()
  await server.close()
})

async function openStream(): Promise<Subscription> {
  const subscription = await subscribe(server, resourceServer)
  open.push(subscription)
  return subscription
}

describe('GET /revocations', () => {
  test('sends server-sent events and first the id of the stream', async () => {
    const stream = await openStream()
    expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream'])
    expect(stream.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    expect(stream.headers['x-request-id']).toBeDefined()
    expect(await stream.next()).toEqual({
      event: 'opened',
      id: expect.stringMatching(/^[A-Za-z0-9_-]{22}-\d+$/),
      data: { stream: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) }
    })
  })

  test('two streams of a process have the same epoch and different ids', async () => {
    const [one, other] = [await (await openStream()).next(), await (await openStream()).next()]
    expect(epochOf(one)).toBe(epochOf(other))
    expect(one.data.stream).not.toBe(other.data.stream)
  })

  test('sends every revocation in order with consecutive event ids', async () => {
    const streams = [await openStream(), await openStream()]
    const opened = await Promise.all(streams.map((stream) => stream.next()))
    const endings = await endAllKinds()
    for (const [index, stream] of streams.entries()) {
      const start = countOf(opened[index] as never)
      for (const [place, data] of endings.entries()) {
        const id = `${epochOf(opened[index] as never)}-${start + place + 1}`
        expect(await stream.next()).toEqual({ event: 'revoked', id, data })
      }
    }
  })

  test('sends keep-alive comments, and no time limit of the listener ends the stream', async () => {
    const { server: listener } = server.internalServer
    expect(server.deps.feed.keepAliveMs * 2).toBeLessThan(listener.timeout)
  })
})

/** Ends tokens, grants, users and clients in every way, one after the other; returns the expected events. */
async function endAllKinds(): Promise<object[]> {
  const endings: object[] = []
  const grantOf = async (token: string) =>
    (await introspectionOf(server, resourceServer, token)) as unknown as Record<string, string>
  const note = (data: object) => endings.push(data)

  const first = await obtainTokens(server, client)
  const known = await grantOf(first.access_token)
  await post(server, '/oauth/revoke', { token: first.access_token, ...bodyCredentials(client) })
  note({ jti: known.jti })
  await post(server, '/oauth/revoke', { token: first.refresh_token, ...bodyCredentials(client) })
  note({ grant_id: known.grant_id })

  const code = await obtainCode(server, client)
  const replayed = pairOf(await exchange(server, client, code))
  note({ grant_id: (await grantOf(replayed.access_token)).grant_id })
  expect((await exchange(server, client, code)).statusCode).toBe(400)

  const reused = await obtainTokens(server, client)
  note({ grant_id: (await grantOf(reused.access_token)).grant_id })
  pairOf(await refresh(server, client, reused.refresh_token))
  expect((await refresh(server, client, reused.refresh_token)).statusCode).toBe(400)

  const app = await server.createClient()
  const connected = await obtainTokens(server, app)
  // Grants opened by a remembered consent at this moment have no id yet, so the event names the user.
  note({ sub: (await grantOf(connected.access_token)).sub })
  const browser = server.newBrowser()
  const login = await browser.open(authorizeUrl(app.clientId))
  await browser.submit(login, { username: 'alice', password: PASSWORD })
  await browser.submit(await openEndOfAccess(browser, app.clientId), {})

  // Events of a user or a client are sent to the APIs for which they have grants.
  const userId = await server.createUser('bob', PASSWORD)
  await grantFor(server.database, AUDIENCE, { userId })
  await disable(server, 'user', userId)
  await deleteRow(server, 'user', userId)
  const other = await server.createClient()
  await grantFor(server.database, AUDIENCE, other)
  await disable(server, 'client', other.clientId)
  await deleteRow(server, 'client', other.clientId)
  return [...endings, { sub: userId }, { sub: userId }, { client_id: other.clientId }, { client_id: other.clientId }]
}

describe('POST /revocations', () => {
  test('returns 204 without a body, and the stream gets the nonce after all earlier revocations', async () => {
    const stream = await openStream()
    const opened = await stream.next()
    const { access_token } = await obtainTokens(server, client)
    await post(server, '/oauth/revoke', { token: access_token, ...bodyCredentials(client) })
    const answer = await sendNonce(server, resourceServer, opened.data.stream ?? '', NONCE)
    expect([answer.statusCode, answer.body, answer.headers['cache-control']]).toEqual([204, '', 'no-store'])
    const [revoked, proof] = [await stream.next(), await stream.next()]
    expect([revoked.event, countOf(revoked)]).toEqual(['revoked', countOf(opened) + 1])
    expect(proof).toEqual({ event: 'proof', id: revoked.id, data: { nonce: NONCE } })
  })

  test('sends the nonce to no other stream', async () => {
    const [one, other] = [await openStream(), await openStream()]
    const ids = [(await one.next()).data.stream ?? '', (await other.next()).data.stream ?? '']
    await sendNonce(server, resourceServer, ids[0] ?? '', `${NONCE}-1`)
    await sendNonce(server, resourceServer, ids[1] ?? '', `${NONCE}-2`)
    expect((await one.next()).data).toEqual({ nonce: `${NONCE}-1` })
    expect((await other.next()).data).toEqual({ nonce: `${NONCE}-2` })
  })

  test('for a stream unknown to this process returns 204, because another process may have it', async () => {
    expect((await sendNonce(server, resourceServer, 'an-unknown-stream', NONCE)).statusCode).toBe(204)
  })

  test.each([
    { name: 'no stream', form: { nonce: NONCE } },
    { name: 'no nonce', form: { stream: NONCE } },
    { name: 'a nonce of 15 characters', form: { stream: NONCE, nonce: 'a'.repeat(15) } },
    { name: 'a nonce of 65 characters', form: { stream: NONCE, nonce: 'a'.repeat(65) } },
    { name: 'a stream with a line break', form: { stream: `${NONCE}\n`, nonce: NONCE } },
    { name: 'a nonce with a quote', form: { stream: NONCE, nonce: `${NONCE}"` } }
  ])('$name is invalid_request', async ({ form }) => {
    const answer = await server.internalServer.inject({
      method: 'POST',
      url: '/revocations',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(resourceServer) },
      payload: new URLSearchParams(form as Record<string, string>).toString()
    })
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request'])
  })
})

describe('GET and POST /revocations: authentication', () => {
  test.each<{ name: string; headers(): Record<string, string> }>([
    { name: 'no credentials', headers: () => ({}) },
    { name: 'a wrong secret', headers: () => basic({ ...resourceServer, clientSecret: 'wrong' }) },
    { name: 'an unknown id', headers: () => basic({ clientId: 'rs_unknown', clientSecret: 'x' }) },
    { name: 'a third-party client', headers: () => basic(client) }
  ])('$name: 401 with a challenge, for both methods', async ({ headers }) => {
    for (const method of ['GET', 'POST'] as const) {
      const answer = await server.internalServer.inject({ method, url: '/revocations', headers: headers() })
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client'])
      expect(answer.headers['www-authenticate']).toBe('Basic realm="valetkey", charset="UTF-8"')
    }
  })

  test.each(['publicServer', 'operatorServer'] as const)('not on the %s: 404', async (at) => {
    for (const method of ['GET', 'POST'] as const) {
      const answer = await server[at].inject({ method, url: '/revocations', headers: basic(resourceServer) })
      expect(answer.statusCode).toBe(404)
    }
  })

  test.each(['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)(
    '%s is 405 with Allow: GET, POST',
    async (method) => {
      const answer = await server.internalServer.inject({ method, url: '/revocations', headers: basic(resourceServer) })
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, POST'])
    }
  )
})

describe('while the LISTEN connection of this process is unverified', () => {
  test.each(['GET', 'POST'] as const)('%s is 503 with Retry-After for an authenticated caller', async (method) => {
    const idle = await startTestServer()
    const by = await idle.createResourceServer()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const payload = method === 'POST' ? `stream=${NONCE}&nonce=${NONCE}` : ''
    const ask = (headers: object) =>
      idle.internalServer.inject({ method, url: '/revocations', headers: { ...form, ...headers }, payload })
    const answer = await ask(basic(by))
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask({})).statusCode).toBe(401)
    expect((await idle.operatorServer.inject('/readyz')).statusCode).toBe(200)
    await idle.close()
  })
})
