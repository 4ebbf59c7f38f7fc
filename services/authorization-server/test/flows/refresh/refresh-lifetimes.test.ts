import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { INVALID_GRANT } from '@valetkey/oauth-protocol'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { auditRows } from '../../support/audit-rows.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { bodyCredentials, exchange, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'
import { growth } from '../../support/samples.js'
import { deleteRow, disable, enable, isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const clock = stopClock()

afterAll(() => clock.restart())

describe('lifetimes', () => {
  const IDLE = 1000
  const MAX = 2500
  const ACCESS = 100
  let server: TestServer
  let client: Credentials
  let resourceServer: Credentials

  beforeAll(async () => {
    server = await startTestServer({
      ACCESS_TOKEN_TTL: String(ACCESS),
      REFRESH_TOKEN_IDLE_TTL: String(IDLE),
      REFRESH_TOKEN_MAX_TTL: String(MAX)
    })
    await server.createUser('alice', PASSWORD)
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })
  afterAll(async () => {
    await server.close()
  })

  async function expectRefused(token: string, by = client): Promise<void> {
    const answer = await refresh(server, by, token)
    expect([answer.statusCode, answer.json().error, answer.json().error_description]).toEqual([
      400,
      'invalid_grant',
      INVALID_GRANT
    ])
  }

  async function reasonOf(requestId: unknown): Promise<string | undefined> {
    await server.deps.audit.close()
    const rows = await server.database.query<{ reason: string }>({
      name: 'test_reason',
      text: `select details->>'reason' as reason from audit_events where request_id = $1`,
      values: [requestId]
    })
    return rows[0]?.reason
  }

  describe('idle lifetime', () => {
    test('is accepted one second before the end and refused at the end', async () => {
      const early = await obtainTokens(server, client)
      const late = await obtainTokens(server, client)
      clock.advance(IDLE - 1)
      expect((await refresh(server, client, early.refresh_token)).statusCode).toBe(200)
      clock.advance(1)
      await expectRefused(late.refresh_token)
    })

    test('a response lost just before the end can be fetched afterwards, within the retry window', async () => {
      const first = await obtainTokens(server, client)
      clock.advance(IDLE - 1)
      const lost = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(20)
      await createExpiredRows(server.database).deleteSome()
      const fetched = pairOf(await refresh(server, client, first.refresh_token))
      expect(fetched.refresh_token).toBe(lost.refresh_token)
      expect((await refresh(server, client, fetched.refresh_token)).statusCode).toBe(200)
    })

    test('starts again at every refresh', async () => {
      const first = await obtainTokens(server, client)
      clock.advance(IDLE - 1)
      const second = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(IDLE - 1)
      expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
    })

    test('the audit event has the cause under the request id; the response has not', async () => {
      const tokens = await obtainTokens(server, client)
      clock.advance(IDLE)
      const answer = await refresh(server, client, tokens.refresh_token)
      expect(answer.body).not.toContain('refresh_token_')
      expect(await reasonOf(answer.headers['x-request-id'])).toBe('refresh_token_expired')
    })
  })

  describe('absolute lifetime', () => {
    async function nearTheEnd(remaining: number): Promise<Tokens> {
      const first = await obtainTokens(server, client)
      clock.advance(900)
      const second = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(900)
      const third = pairOf(await refresh(server, client, second.refresh_token))
      clock.advance(MAX - 1800 - remaining)
      return third
    }

    test('a successor expires with its grant, even if it is new', async () => {
      const third = await nearTheEnd(50)
      const fourth = pairOf(await refresh(server, client, third.refresh_token))
      clock.advance(49)
      const fifth = pairOf(await refresh(server, client, fourth.refresh_token))
      clock.advance(1)
      await expectRefused(fifth.refresh_token)
    })

    test('the last access token keeps its own lifetime, and the row of the grant is kept until then', async () => {
      const third = await nearTheEnd(1)
      const fourth = pairOf(await refresh(server, client, third.refresh_token))
      expect(fourth.expires_in).toBe(ACCESS)
      clock.advance(ACCESS - 1)
      await createExpiredRows(server.database).deleteSome()
      expect(await isActive(server, resourceServer, fourth.access_token)).toBe(true)
      clock.advance(1)
      expect(await isActive(server, resourceServer, fourth.access_token)).toBe(false)
      await createExpiredRows(server.database).deleteSome()
      await expectRefused(fourth.refresh_token)
    })

    test('each refresh keeps the row of the grant until the newest token has expired', async () => {
      const first = await obtainTokens(server, client)
      clock.advance(IDLE - 1)
      const second = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(IDLE - 1)
      await createExpiredRows(server.database).deleteSome()
      const third = pairOf(await refresh(server, client, second.refresh_token))
      expect(await isActive(server, resourceServer, third.access_token)).toBe(true)
    })
  })

  describe('a rotated token after its idle lifetime', () => {
    test('is refused like an unknown token and ends nothing', async () => {
      const first = await obtainTokens(server, client)
      clock.advance(IDLE - 10)
      const second = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(60)
      await expectRefused(first.refresh_token)
      expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
    })
  })

  describe('the end of a grant ends its refresh token', () => {
    let userId: string
    let username: string
    let tokens: Tokens

    async function freshGrant(): Promise<Credentials> {
      username = `bob-${randomUUID()}`
      userId = await server.createUser(username, PASSWORD)
      const mine = await server.createClient()
      tokens = pairOf(await exchange(server, mine, await obtainCode(server, mine, { username })))
      return mine
    }

    test.each<{ name: string; ending(mine: Credentials): Promise<unknown> }>([
      { name: 'the user disabled', ending: () => disable(server, 'user', userId) },
      {
        name: 'the user disabled and enabled again',
        ending: async () => {
          await disable(server, 'user', userId)
          await enable(server, 'user', userId)
        }
      },
      { name: 'the user deleted', ending: () => deleteRow(server, 'user', userId) },
      {
        name: 'the client disabled and enabled again',
        ending: async (mine) => {
          await disable(server, 'client', mine.clientId)
          await enable(server, 'client', mine.clientId)
        }
      },
      {
        name: 'its own revocation',
        ending: (mine) => post(server, '/oauth/revoke', { token: tokens.refresh_token, ...bodyCredentials(mine) })
      }
    ])('$name: invalid_grant, and the access token has ended', async ({ ending }) => {
      const mine = await freshGrant()
      await ending(mine)
      await expectRefused(tokens.refresh_token, mine)
      expect((await introspect(server, resourceServer, tokens.access_token)).json()).toEqual({ active: false })
    })

    test.each(['disabled', 'deleted'])('the client is %s: invalid_client, as for an unknown client', async (what) => {
      const mine = await freshGrant()
      await (what === 'disabled' ? disable : deleteRow)(server, 'client', mine.clientId)
      const answer = await refresh(server, mine, tokens.refresh_token)
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client'])
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
    })

    test('the end of one grant does not affect another grant of the same user and client', async () => {
      const mine = await freshGrant()
      const again = pairOf(await exchange(server, mine, await obtainCode(server, mine, { username })))
      await post(server, '/oauth/revoke', { token: again.refresh_token, ...bodyCredentials(mine) })
      expect((await refresh(server, mine, tokens.refresh_token)).statusCode).toBe(200)
    })
  })
})

describe('users who no longer sign in', () => {
  const DAY = 86_400
  const LIFETIMES = { REFRESH_TOKEN_IDLE_TTL: String(100 * DAY), REFRESH_TOKEN_MAX_TTL: String(200 * DAY) }
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
      // The cause is not `asked`: neither the user nor the app ended it.
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
        // The use is written in the background, some seconds later.
        await strict.database.query({
          name: 'test_use_sessions',
          text: 'update sessions set seen_at = now()',
          values: []
        })
      }
      clock.advance(3600)
      expect(await isSignedIn()).toBe(false)
    } finally {
      await strict.close()
    }
  })
})
