import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { RAISE_OF_PAIR, RAISE_OF_USER } from '../../../src/storage/postgres/authorization-generation.js'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import {
  type Access,
  allEndings,
  browserAt,
  codeAtOnce,
  countSurvivors,
  type Ending,
  openAccess,
  openGrant,
  refreshed
} from '../../support/endings.js'
import { authorizeUrl, responseParameters } from '../../support/flow.js'
import { startPausingInstance } from '../../support/pausing-instance.js'

let server: TestServer
let pausing: Awaited<ReturnType<typeof startPausingInstance>>
let resourceServer: Credentials
let endings: readonly Ending[]

beforeAll(async () => {
  server = await startTestServer({ CODE_TTL: '29' })
  pausing = await startPausingInstance(server)
  resourceServer = await server.createResourceServer()
  endings = await allEndings(server)
})
afterAll(async () => {
  await pausing.paused.close()
  await server.close()
})

const AUTHORIZATIONS = [
  'the user on the account page',
  'an operator for a user and a client',
  'an operator for a user',
  'an operator for a client'
]
const STATEMENTS = ['read_allowance', 'store_exchange_in', 'find_refresh_token', 'rotate_refresh_token']

test.each(AUTHORIZATIONS.flatMap((name) => STATEMENTS.map((before) => ({ name, before }))))(
  'access ended by $name before $before: no code or token works',
  async ({ name, before }) => {
    const access = await openAccess(server)
    const ending = endings.find((each) => each.name === name)
    const { paused, pauses } = pausing
    pauses.next = { before, run: async () => ending?.end(access) }
    const opens = before.includes('refresh') ? refreshed(paused, access) : openGrant(paused, access)
    const opened = [access.tokens, await opens, await openGrant(server, access)]
    expect(pauses.next).toBeUndefined()
    expect(await countSurvivors(server, { client: access.client, resourceServer }, opened)).toBe(0)
  }
)

test.each([
  {
    name: 'access of the user to the client',
    text: RAISE_OF_PAIR,
    values: ({ userId, client }: Access) => [userId, client.clientId]
  },
  { name: 'all access of the user', text: RAISE_OF_USER, values: ({ userId }: Access) => [userId] },
  {
    name: 'all access to the client',
    text: 'update clients set authorization_generation = authorization_generation + 1 where client_id = $1',
    values: ({ client }: Access) => [client.clientId]
  }
])('tokens issued while an ending waits for its commit work only until the commit: $name', async ({ text, values }) => {
  const access = await openAccess(server)
  const code = await codeAtOnce(server, access)
  const ending = new pg.Client({ connectionString: server.config.databaseUrl })
  await ending.connect()
  await ending.query('begin')
  await ending.query(text, values(access))
  const opened = [
    await openGrant(server, access, code),
    await openGrant(server, access),
    await refreshed(server, access)
  ]
  expect(opened.filter((tokens) => tokens === undefined)).toEqual([])
  const late = await codeAtOnce(server, access)
  await ending.query('commit')
  await ending.end()
  opened.push(await openGrant(server, access, late), await openGrant(server, access))
  expect(opened.slice(3)).toEqual([undefined, undefined])
  expect(await countSurvivors(server, { client: access.client, resourceServer }, opened)).toBe(0)
})

describe.each(AUTHORIZATIONS)('access ended by %s while Allow is in progress', (name) => {
  async function allowPausedBefore(before: string) {
    const access = await openAccess(server)
    const ending = endings.find((each) => each.name === name)
    const { paused, pauses } = pausing
    const page = await browserAt(paused, access.browser).open(
      authorizeUrl(access.client.clientId, { scope: 'files.read:images' })
    )
    pauses.next = { before, run: async () => ending?.end(access) }
    const { code } = responseParameters(await browserAt(paused, access.browser).submitOnly(page, { decision: 'allow' }))
    expect(pauses.next).toBeUndefined()
    const { userId, client } = access
    const remembered = server.deps.consent.consents.findScope({
      ...{ userId, clientId: client.clientId, audience: AUDIENCE }
    })
    return { tokens: await openGrant(server, access, code), remembered: await remembered }
  }

  test('before its generations are read: it counts as later', async () => {
    expect(await allowPausedBefore('read_allowance')).toEqual({
      tokens: expect.anything(),
      remembered: ['files.read:images']
    })
  })

  test('before its consent is stored: it counts as earlier', async () => {
    expect(await allowPausedBefore('remember_consent')).toEqual({ tokens: undefined, remembered: [] })
  })
})
