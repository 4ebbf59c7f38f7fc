import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { defineStatement } from '@valetkey/service-kit'
import pg from 'pg'
import { RAISE_OF_PAIR, RAISE_OF_USER } from '../../../src/storage/postgres/authorization-generation.js'
import { type Administration, startAdministration } from '../../support/administration.js'
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
  refreshed,
  revokeGrantOf,
  revokeRefreshToken
} from '../../support/endings.js'
import { authorizeUrl, responseParameters } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import type { Tokens } from '../../support/tokens.js'

let server: TestServer
let resourceServer: Credentials
let endings: readonly Ending[]

beforeAll(async () => {
  server = await startTestServer({ CODE_TTL: '29', LIMITS_FACTOR: '1000' })
  resourceServer = await server.createResourceServer()
  endings = await allEndings(server)
})
afterAll(() => server.close())

describe('at a known moment', () => {
  let pausing: Awaited<ReturnType<typeof startPausingInstance>>

  beforeAll(async () => {
    pausing = await startPausingInstance(server)
  })
  afterAll(() => pausing.paused.close())

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
      statement: defineStatement('', RAISE_OF_PAIR)
    },
    {
      name: 'all access of the user',
      statement: defineStatement('', RAISE_OF_USER)
    },
    {
      name: 'all access to the client',
      statement: defineStatement(
        '',
        'update clients set authorization_generation = authorization_generation + 1 where client_id = :clientId'
      )
    }
  ])('tokens issued while an ending waits for its commit work only until the commit: $name', async ({ statement }) => {
    const access = await openAccess(server)
    const code = await codeAtOnce(server, access)
    const ending = new pg.Client({ connectionString: server.config.databaseUrl })
    await ending.connect()
    await ending.query('begin')
    const { text, values } = statement({ userId: access.userId, clientId: access.client.clientId })
    await ending.query(text, [...values])
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
      const { code } = responseParameters(
        await browserAt(paused, access.browser).submitOnly(page, { decision: 'allow' })
      )
      expect(pauses.next).toBeUndefined()
      const { userId, client } = access
      const remembered = server.deps.consent.consents.findScope({
        userId,
        clientId: client.clientId,
        audience: AUDIENCE
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
})

describe('concurrent with requests', () => {
  const ROUNDS = 12

  let other: TestServer
  let admin: Administration

  beforeAll(async () => {
    other = await startInstance(server)
    admin = await startAdministration(server, 'one grant')
  })
  afterAll(() => other.close())

  /** The ending starts in each round at another point of what opens access at the same moment. */
  async function race(end: () => Promise<unknown>, openings: readonly Promise<Tokens | undefined>[], round: number) {
    for (let turns = 0; turns < round * 10; turns += 1) await turn()
    const [, ...opened] = await Promise.all([end(), ...openings])
    return opened
  }

  async function raceAll(access: Access, { end }: Ending, round: number): Promise<(Tokens | undefined)[]> {
    const code = await codeAtOnce(server, access)
    if (code === undefined) throw new Error('the user was asked')
    const openings = [
      openGrant(other, access, code),
      refreshed(server, access),
      refreshed(other, access),
      openGrant(server, access),
      openGrant(other, access)
    ]
    const opened = await race(() => end(access), openings, round)
    // Neither a session nor a remembered consent opens anything after the ending.
    return [access.tokens, ...opened, await openGrant(other, access)]
  }

  test.each([
    'the user on the account page',
    'an operator for a user and a client',
    'an operator for a user',
    'an operator for a client',
    'the user is disabled',
    'the user is deleted',
    'the user has a new password',
    'the client is disabled',
    'the client is deleted'
  ])('no code or token issued concurrently with an ending stays valid: %s', async (name) => {
    const ending = endings.find((each) => each.name === name)
    if (ending === undefined) throw new Error(`no ending is ${name}`)
    const seen = { opened: 0, survivors: 0 }
    for (let round = 0; round < ROUNDS; round += 1) {
      const access = await openAccess(server)
      const opened = await raceAll(access, ending, round)
      seen.opened += opened.filter((tokens) => tokens !== undefined).length
      seen.survivors += await countSurvivors(server, { client: access.client, resourceServer }, opened)
    }
    expect(seen.survivors).toBe(0)
    // Those that were there before, and some of the others.
    expect(seen.opened).toBeGreaterThan(ROUNDS)
  })

  test.each([
    { name: 'an operator revokes the grant', end: (access: Access) => revokeGrantOf(admin, access) },
    { name: 'the client revokes its refresh token', end: (access: Access) => revokeRefreshToken(server, access) }
  ])('no token of a grant stays valid if it is refreshed concurrently: $name', async ({ end }) => {
    let survivors = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const access = await openAccess(server)
      const openings = [server, other, server].map((instance) => refreshed(instance, access))
      const opened = await race(() => end(access), openings, round)
      survivors += await countSurvivors(server, { client: access.client, resourceServer }, [access.tokens, ...opened])
    }
    expect(survivors).toBe(0)
  })
})
