import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../support/audit-rows.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'
import { growth } from '../../support/samples.js'
import { isActive, pairOf } from '../../support/tokens.js'

const DAY = 86_400
const LIFETIMES = { REFRESH_TOKEN_IDLE_TTL: String(100 * DAY), REFRESH_TOKEN_MAX_TTL: String(200 * DAY) }

const clock = stopClock()
let server: TestServer
let client: Credentials
let resourceServer: Credentials
let number = 0
let username: string

beforeAll(async () => {
  server = await startTestServer({ ...LIFETIMES, ACCESS_TOKEN_TTL: String(30 * DAY), SIGN_IN_AT_LEAST_EVERY: '30' })
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  number += 1
  username = `user-${number}`
  await server.createUser(username, PASSWORD)
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

const obtain = async (from = server, by = client) =>
  pairOf(await exchange(from, by, await obtainCode(from, by, { username })))

describe('SIGN_IN_AT_LEAST_EVERY', () => {
  test('a second before the end a refresh works, at the end it is invalid_grant and ends the grant', async () => {
    const first = await obtain()
    clock.advance(30 * DAY - 1)
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
    clock.advance(1)
    const counted = await growth(server, async () => {
      const answer = await refresh(server, client, second.refresh_token)
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
    })
    // Not `asked`: neither the user nor the app ended it.
    expect(Object.entries(counted).filter(([name]) => name.startsWith('valetkey_revocations'))).toEqual([
      ['valetkey_revocations_total{of=grant,cause=sign_in_too_old}', 1]
    ])
    expect(await isActive(server, resourceServer, second.access_token)).toBe(false)
    const rows = await auditRows(server)
    expect(rows.filter(({ details }) => details.reason === 'sign_in_too_old')).toMatchObject([
      { event: 'grant_ended', client_id: client.clientId, user_id: expect.any(String) }
    ])
    expect(rows.at(-1)).toMatchObject({
      event: 'request_refused',
      details: { reason: 'refresh_token_sign_in_too_old' }
    })
  })

  test('a sign-in in any browser starts the time again', async () => {
    const tokens = await obtain()
    clock.advance(29 * DAY)
    await signedInBrowser(server, username)
    clock.advance(29 * DAY)
    expect((await refresh(server, client, tokens.refresh_token)).statusCode).toBe(200)
  })

  test('counts from the creation of a user who has never signed in', async () => {
    const [early, late] = [await obtain(), await obtain()]
    await server.database.query({
      name: 'test_forget_sign_in',
      text: 'update users set last_signed_in_at = null, created_at = $2 where username = $1',
      values: [username, clock.now()]
    })
    clock.advance(30 * DAY - 1)
    expect((await refresh(server, client, early.refresh_token)).statusCode).toBe(200)
    clock.advance(1)
    expect((await refresh(server, client, late.refresh_token)).statusCode).toBe(400)
  })

  test('does not end the grants of others', async () => {
    const old = await obtain()
    clock.advance(20 * DAY)
    username = `${username}-beside`
    await server.createUser(username, PASSWORD)
    const other = await obtain()
    clock.advance(20 * DAY)
    const answers = await Promise.all([old, other].map((each) => refresh(server, client, each.refresh_token)))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 200])
  })

  test('is off by default', async () => {
    const free = await startTestServer(LIFETIMES)
    try {
      await free.createUser(username, PASSWORD)
      const by = await free.createClient()
      const tokens = await obtain(free, by)
      clock.advance(90 * DAY)
      expect((await refresh(free, by, tokens.refresh_token)).statusCode).toBe(200)
    } finally {
      await free.close()
    }
  })
})

test('a session ends with SIGN_IN_AT_LEAST_EVERY, so that an app gets no grant that it cannot refresh', async () => {
  const strict = await startTestServer({ SIGN_IN_AT_LEAST_EVERY: '1' })
  try {
    await strict.createUser(username, PASSWORD)
    const browser = await signedInBrowser(strict, username)
    const isSignedIn = async () => (await browser.get(`${strict.config.issuer}/account/apps`)).statusCode === 200
    for (let hours = 0; hours < 23; hours += 1) {
      clock.advance(3600)
      expect(await isSignedIn()).toBe(true)
    }
    clock.advance(3600)
    expect(await isSignedIn()).toBe(false)
  } finally {
    await strict.close()
  }
})
