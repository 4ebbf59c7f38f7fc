import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopMonotonicClock } from '../../support/clock.js'
import { countOf, epochOf, type Subscription, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { type AudienceGrant, grantFor } from '../../support/feed-grants.js'
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
import { startInstance } from '../../support/instance.js'
import { openEndOfAccess } from '../../support/pages.js'
import { deleteRow, disable, introspectionOf, obtainTokens, pairOf } from '../../support/tokens.js'

const NONCE = 'a-nonce-of-a-guard'

let server: TestServer
let client: Credentials
let resourceServer: Credentials
let open: Subscription[] = []

beforeAll(async () => {
  stopMonotonicClock()
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
  jest.restoreAllMocks()
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
    const idle = await startInstance(server)
    const by = await server.createResourceServer()
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

describe('two instances', () => {
  let a: TestServer
  let b: TestServer

  beforeAll(async () => {
    a = server
    b = await startInstance(server)
    await startChannel(b)
  })
  afterAll(async () => {
    await b.deps.channel.close()
    await b.close()
  })

  test('a revocation at one instance is sent by both, each with its own epoch', async () => {
    const client = await a.createClient()
    const streams = [await subscribe(a, resourceServer), await subscribe(b, resourceServer)]
    const opened = await Promise.all(streams.map((stream) => stream.next()))
    const { access_token } = await obtainTokens(a, client)
    const known = await introspectionOf(a, resourceServer, access_token)
    await post(a, '/oauth/revoke', { token: access_token, ...bodyCredentials(client) })
    const revoked = await Promise.all(streams.map((stream) => stream.next()))
    expect(revoked.map(({ data }) => data)).toEqual(Array(2).fill({ jti: 'jti' in known ? known.jti : '' }))
    expect(revoked.map(epochOf)).toEqual(opened.map(epochOf))
    expect(new Set(opened.map(epochOf)).size).toBe(2)
  })

  test('a nonce sent to the other instance returns on its own stream only', async () => {
    const [mine, others] = [await subscribe(a, resourceServer), await subscribe(b, resourceServer)]
    const [opened, openedThere] = [await mine.next(), await others.next()]
    expect((await sendNonce(b, resourceServer, opened.data.stream ?? '', NONCE)).statusCode).toBe(204)
    expect(await mine.next()).toEqual({ event: 'proof', id: opened.id, data: { nonce: NONCE } })
    await sendNonce(a, resourceServer, openedThere.data.stream ?? '', `${NONCE}-2`)
    expect(await others.next()).toMatchObject({ data: { nonce: `${NONCE}-2` } })
  })

  test('50 revocations at both instances during 50 nonces: no gap, and each proof follows the earlier revocations', async () => {
    const mine = await subscribe(a, resourceServer)
    const opened = await mine.next()
    const rounds = Array.from({ length: 50 }, (_, round) => round)
    await Promise.all(
      rounds.map(async (round) => {
        const text = "select pg_notify('valetkey_revocations', json_build_object('sub', $1::text)::text)"
        await a.database.query({ name: 'test_announce', text, values: [`user-${round}`] })
        const instance = round % 2 ? a : b
        const nonce = `nonce-of-round-${round}-padded`
        expect((await sendNonce(instance, resourceServer, opened.data.stream ?? '', nonce)).statusCode).toBe(204)
      })
    )
    const ended = new Set<string>()
    const proofs = new Set<string>()
    let last = countOf(opened)
    while (proofs.size < 50) {
      const event = await mine.next()
      if (event.event === 'revoked') {
        expect(countOf(event)).toBe(last + 1)
        last = countOf(event)
        ended.add(event.data.sub ?? '')
      } else {
        expect(countOf(event)).toBe(last)
        expect(ended).toContain(`user-${/^nonce-of-round-(\d+)/.exec(event.data.nonce ?? '')?.[1]}`)
        proofs.add(event.data.nonce ?? '')
      }
    }
    expect(ended.size).toBe(50)
  })
})

describe('audiences', () => {
  const REPORTS = 'https://reports.example'
  const QUESTION = 'find_granted_audiences'

  type Stream = Subscription & { id: string; by: Credentials }

  let instance: TestServer
  let files: Credentials
  let reports: Credentials
  /** Replaces the query of the audiences of a user or client. */
  let onQuestion: (ask: () => Promise<unknown[]>) => Promise<unknown[]>

  beforeAll(async () => {
    instance = await startInstance(server, {
      wrap: (database): Database => ({
        ...database,
        query: (statement) =>
          (statement.name === QUESTION
            ? onQuestion(() => database.query(statement))
            : database.query(statement)) as never
      })
    })
    files = await server.createResourceServer(AUDIENCE)
    reports = await server.createResourceServer(REPORTS)
    await startChannel(instance)
  })
  afterAll(async () => {
    await instance.deps.channel.close()
    await instance.close()
  })

  const run = (text: string, values: unknown[] = []) => server.database.query({ name: '', text, values })

  async function openStream(by: Credentials): Promise<Stream> {
    const stream = await subscribe(instance, by)
    open.push(stream)
    return { ...stream, by, id: (await stream.next()).data.stream ?? '' }
  }

  /** One stream of each audience. */
  async function openBoth(): Promise<[Stream, Stream]> {
    onQuestion = (ask) => ask()
    return [await openStream(files), await openStream(reports)]
  }

  /** All events of a stream before the proof of a new nonce; fails if the ids have a gap. */
  async function toldOn(stream: Stream): Promise<object[]> {
    await sendNonce(instance, stream.by, stream.id, NONCE)
    const told: object[] = []
    for (let event = await stream.next(); event.event !== 'proof'; event = await stream.next()) {
      told.push(event.data)
      expect(event.id).toBe(`${epochOf(event)}-${told.length}`)
    }
    return told
  }

  const revoke = (grant: AudienceGrant) =>
    run('update access_tokens set revoked_at = now() where token_id = $1', [grant.tokenId])
  const end = (grant: AudienceGrant) => run('update grants set ended_at = now() where grant_id = $1', [grant.grantId])

  describe('revocation events reach only the resource servers of the audience', () => {
    test('event of a token or a grant: its audience', async () => {
      const [ofFiles, ofReports] = await openBoth()
      const [one, other] = [await grantFor(server.database, AUDIENCE), await grantFor(server.database, REPORTS)]
      await revoke(one)
      await revoke(other)
      await end(one)
      await end(other)
      expect(await toldOn(ofFiles)).toEqual([{ jti: one.tokenId }, { grant_id: one.grantId }])
      expect(await toldOn(ofReports)).toEqual([{ jti: other.tokenId }, { grant_id: other.grantId }])
    })

    test('event of a user: each audience with a grant of the user, ended or not', async () => {
      const [ofFiles, ofReports] = await openBoth()
      const [alice, bob] = [
        await server.createUser('alice of APIs', 'any'),
        await server.createUser('bob of APIs', 'any')
      ]
      await grantFor(server.database, AUDIENCE, { userId: alice })
      const ended = await grantFor(server.database, REPORTS, { userId: bob })
      await end(ended)
      await disable(server, 'user', alice)
      await deleteRow(server, 'user', bob)
      expect(await toldOn(ofFiles)).toEqual([{ sub: alice }])
      expect(await toldOn(ofReports)).toEqual([{ grant_id: ended.grantId }, { sub: bob }])
    })

    test('event of a client: each audience with a grant of the client', async () => {
      const [ofFiles, ofReports] = await openBoth()
      const { clientId } = await server.createClient()
      await grantFor(server.database, REPORTS, { clientId })
      await disable(server, 'client', clientId)
      expect(await toldOn(ofFiles)).toEqual([])
      expect(await toldOn(ofReports)).toEqual([{ client_id: clientId }])
    })

    test('grants for both audiences: both get the event', async () => {
      const [ofFiles, ofReports] = await openBoth()
      const userId = await server.createUser('carol', 'any')
      for (const audience of [AUDIENCE, REPORTS]) await grantFor(server.database, audience, { userId })
      await disable(server, 'user', userId)
      expect([await toldOn(ofFiles), await toldOn(ofReports)]).toEqual([[{ sub: userId }], [{ sub: userId }]])
    })
  })

  describe('revocation events without a known audience', () => {
    test('a token whose grant was deleted: all streams get the event', async () => {
      const [ofFiles, ofReports] = await openBoth()
      const grant = await grantFor(server.database, AUDIENCE)
      await run('delete from grants where grant_id = $1', [grant.grantId])
      await revoke(grant)
      expect(await toldOn(ofFiles)).toEqual([{ grant_id: grant.grantId }, { jti: grant.tokenId }])
      expect(await toldOn(ofReports)).toEqual([{ jti: grant.tokenId }])
    })

    test.each<{ name: string; fate: typeof onQuestion }>([
      {
        name: 'query of the audiences fails',
        fate: () => Promise.reject(new StoreUnavailable('postgres', new Error('by the test')))
      },
      { name: 'query of the audiences gets no response', fate: () => new Promise(() => {}) }
    ])('$name: all streams get the events, in order of the commits', async ({ fate }) => {
      const [ofFiles, ofReports] = await openBoth()
      onQuestion = fate
      const [first, second] = [
        await server.createUser(`first ${fate}`, 'any'),
        await server.createUser(`2 ${fate}`, 'any')
      ]
      const grant = await grantFor(server.database, AUDIENCE)
      await disable(server, 'user', first)
      await end(grant)
      await disable(server, 'user', second)
      expect(await toldOn(ofFiles)).toEqual([{ sub: first }, { grant_id: grant.grantId }, { sub: second }])
      expect(await toldOn(ofReports)).toEqual([{ sub: first }, { sub: second }])
    })

    test('a grant issued while the user is ended is found, because the audiences are read after the commit', async () => {
      const [, ofReports] = await openBoth()
      const userId = await server.createUser('dave', 'any')
      let isOpened: Promise<unknown> = Promise.resolve()
      onQuestion = (ask) => isOpened.then(ask)
      isOpened = grantFor(server.database, REPORTS, { userId })
      await disable(server, 'user', userId)
      expect(await toldOn(ofReports)).toEqual([{ sub: userId }])
    })
  })

  test('later events wait for the query: no proof is sent before earlier events', async () => {
    const [ofFiles] = await openBoth()
    const userId = await server.createUser('erin', 'any')
    const grant = await grantFor(server.database, AUDIENCE, { userId })
    let answer = () => {}
    const isAsked = new Promise<void>((resolve) => {
      onQuestion = async (ask) => {
        resolve()
        await new Promise<void>((go) => (answer = go))
        return ask()
      }
    })
    await disable(server, 'user', userId)
    await isAsked
    await end(grant)
    await sendNonce(instance, files, ofFiles.id, `${NONCE}-early`)
    expect(ofFiles.text()).not.toMatch(/revoked|proof/)
    answer()
    const events = [await ofFiles.next(), await ofFiles.next(), await ofFiles.next()]
    expect(events.map(({ data }) => data)).toEqual([
      { sub: userId },
      { grant_id: grant.grantId },
      { nonce: `${NONCE}-early` }
    ])
  })

  test('many concurrent events share few queries', async () => {
    const [ofFiles, ofReports] = await openBoth()
    let questions = 0
    onQuestion = (ask) => {
      questions += 1
      return ask()
    }
    const userId = await server.createUser('frank', 'any')
    await grantFor(server.database, AUDIENCE, { userId })
    await run(
      `insert into users (user_id, username, canonical_name, password_hash, created_at)
        select gen_random_uuid(), 'many ' || n, 'many ' || n, 'none', now() from generate_series(1, 200) as n`
    )
    await run("update users set generation = generation + 1 where username like 'many %' or user_id = $1", [userId])
    expect(await toldOn(ofFiles)).toEqual([{ sub: userId }])
    expect(await toldOn(ofReports)).toEqual([])
    expect(questions).toBeLessThan(20)
  })
})
