import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { epochOf, type Subscription, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { type AudienceGrant, grantFor } from '../../support/feed-grants.js'
import { startInstance } from '../../support/instance.js'
import { deleteRow, disable } from '../../support/tokens.js'

const REPORTS = 'https://reports.example'
const NONCE = 'a-nonce-of-a-guard'
const QUESTION = 'find_granted_audiences'

type Stream = Subscription & { id: string; by: Credentials }

let server: TestServer
let instance: TestServer
let files: Credentials
let reports: Credentials
let open: Subscription[] = []
/** Replaces the query of the audiences of a user or client. */
let onQuestion: (ask: () => Promise<unknown[]>) => Promise<unknown[]>

beforeAll(async () => {
  server = await startTestServer()
  instance = await startInstance(server, {
    wrap: (database): Database => ({
      ...database,
      query: (statement) =>
        (statement.name === QUESTION ? onQuestion(() => database.query(statement)) : database.query(statement)) as never
    })
  })
  files = await server.createResourceServer(AUDIENCE)
  reports = await server.createResourceServer(REPORTS)
  await startChannel(instance)
})
afterEach(() => {
  for (const { request } of open) request.destroy()
  open = []
})
afterAll(async () => {
  await instance.deps.channel.close()
  await instance.close()
  await server.close()
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
    const [alice, bob] = [await server.createUser('alice', 'any'), await server.createUser('bob', 'any')]
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
    "insert into users (user_id, username, password_hash, created_at) select gen_random_uuid(), 'many ' || n, 'none', now() from generate_series(1, 200) as n"
  )
  await run("update users set generation = generation + 1 where username like 'many %' or user_id = $1", [userId])
  expect(await toldOn(ofFiles)).toEqual([{ sub: userId }])
  expect(await toldOn(ofReports)).toEqual([])
  expect(questions).toBeLessThan(20)
})
