import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Administration, startAdministration } from '../../support/administration.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import {
  type Access,
  allEndings,
  codeAtOnce,
  countSurvivors,
  type Ending,
  openAccess,
  openGrant,
  refreshed,
  revokeGrantOf,
  revokeRefreshToken
} from '../../support/endings.js'
import { startInstance } from '../../support/instance.js'
import type { Tokens } from '../../support/tokens.js'

// Hundreds of sign-ins and exchanges in each test, which take long on a busy machine.
const ROUNDS = 30

let server: TestServer
let other: TestServer
let admin: Administration
let resourceServer: Credentials
let endings: readonly Ending[]

beforeAll(async () => {
  server = await startTestServer({ CODE_TTL: '29', LIMITS_FACTOR: '1000' })
  other = await startInstance(server)
  admin = await startAdministration(server, 'one grant')
  resourceServer = await server.createResourceServer()
  endings = await allEndings(server)
})
afterAll(async () => {
  await other.close()
  await server.close()
})

/** The ending starts in each round at another point of what opens access at the same moment. */
async function race(end: () => Promise<unknown>, openings: readonly Promise<Tokens | undefined>[], round: number) {
  for (let turns = 0; turns < round * 4; turns += 1) await turn()
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
