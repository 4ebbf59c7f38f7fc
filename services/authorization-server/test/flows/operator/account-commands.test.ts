import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { isActive, pairOf } from '../../support/tokens.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('endings', () => {
  let client: Credentials
  let resourceServer: Credentials
  let number = 0
  let username: string
  let userId: string

  beforeAll(async () => {
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    number += 1
    username = `user ${number}`
    userId = await server.createUser(username, PASSWORD)
  })

  const users = (args: readonly string[], surroundings = {}) =>
    runCommand(server.database, ['users', ...args], surroundings)
  const actor = { kind: 'command_line', name: OPERATOR }

  async function signedInBrowser() {
    const browser = server.newBrowser()
    await browser.submit(await browser.open(`${ISSUER}/login`), { username, password: PASSWORD })
    const isSignedIn = async () => (await browser.get(`${ISSUER}/account/apps`)).statusCode === 200
    return { isSignedIn }
  }

  const obtain = async () => pairOf(await exchange(server, client, await obtainCode(server, client, { username })))

  const ENDINGS = [
    { command: ['disable'], more: ['--yes'], event: 'user_disabled', stdin: '' },
    { command: ['delete'], more: ['--yes'], event: 'user_deleted', stdin: '' },
    {
      command: ['set-password'],
      more: ['--password-stdin'],
      event: 'user_password_set',
      stdin: 'a new password of words\n'
    }
  ]

  describe.each(ENDINGS)('users $command', ({ command, more, event, stdin }) => {
    const run = (who: string, ...others: string[]) => users([...command, who, ...more, ...others], { stdin })

    test('ends every session, token and code of this user immediately, and none of others (contract 2)', async () => {
      const tokens = await obtain()
      const code = await obtainCode(server, client, { username })
      const browser = await signedInBrowser()
      const [before, beforeId] = [username, userId]
      username = `${before} beside`
      await server.createUser(username, PASSWORD)
      const others = await obtain()
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      expect(await browser.isSignedIn()).toBe(true)

      expect((await run(before)).code).toBe(0)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
      const late = await exchange(server, client, code)
      if (late.statusCode === 200) {
        expect(await isActive(server, resourceServer, late.json().access_token)).toBe(false)
      }
      expect(await browser.isSignedIn()).toBe(false)
      expect((await attemptSignIn(server, { username: before, password: PASSWORD })).statusCode).toBe(422)
      expect(await isActive(server, resourceServer, others.access_token)).toBe(true)
      expect(await lastChangeIn(server)).toMatchObject({ event, user_id: beforeId })
    })

    test('is audited with the actor and without a password', async () => {
      const { code, out } = await run(userId, '--json')
      expect([code, JSON.parse(out).user_id]).toEqual([0, userId])
      expect(await lastChangeIn(server)).toEqual({
        event,
        request_id: null,
        client_id: null,
        user_id: userId,
        address: null,
        details: { username, actor }
      })
    })

    test.each(['unknown', randomUUID(), ''])('the unknown %j is 3', async (who) => {
      const { code, out } = await run(who)
      expect([code, out]).toEqual([3, ''])
    })
  })

  describe('users disable and enable', () => {
    test('a second time changes nothing and is 0', async () => {
      for (const command of [
        ['disable', userId, '--yes'],
        ['enable', userId]
      ]) {
        await users(command)
        const entries = await changesIn(server)
        expect((await users(command)).code).toBe(0)
        expect(await changesIn(server)).toEqual(entries)
      }
    })

    test('an enabled user can sign in, and earlier tokens stay ended', async () => {
      const tokens = await obtain()
      await users(['disable', username, '--yes'])
      const { code, out } = await users(['enable', username, '--json'])
      expect([code, JSON.parse(out)]).toMatchObject([0, { user_id: userId, username, disabled: false }])
      expect((await attemptSignIn(server, { username, password: PASSWORD })).statusCode).toBe(303)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect(await lastChangeIn(server)).toMatchObject({ event: 'user_enabled', user_id: userId, details: { actor } })
    })

    test.each(['disable', 'delete'])(
      '%s requires confirmation: No changes nothing, without a terminal it is refused',
      async (command) => {
        const refused = await users([command, username], { answer: false })
        expect([refused.code, refused.said]).toEqual([1, expect.stringContaining(username)])
        expect((await users([command, username])).code).toBe(2)
        expect((await attemptSignIn(server, { username, password: PASSWORD })).statusCode).toBe(303)
      }
    )
  })

  describe('users set-password', () => {
    test('the new password signs in, the old one does not', async () => {
      await users(['set-password', username, '--password-stdin'], { stdin: 'a new password of words\n' })
      expect((await attemptSignIn(server, { username, password: 'a new password of words' })).statusCode).toBe(303)
      expect((await attemptSignIn(server, { username, password: PASSWORD })).statusCode).toBe(422)
    })

    test.each(['', 'two\nlines', 'ü'.repeat(513)])('an invalid password is 2', async (stdin) => {
      const { code } = await users(['set-password', username, '--password-stdin'], { stdin })
      expect(code).toBe(2)
      expect((await attemptSignIn(server, { username, password: PASSWORD })).statusCode).toBe(303)
    })
  })

  test('a name that equals the id of another user is a conflict (4)', async () => {
    await server.createUser(userId, PASSWORD)
    expect((await users(['disable', userId, '--yes'])).code).toBe(4)
    expect((await users(['disable', username, '--yes'])).code).toBe(0)
  })

  test('a name that equals the id of the same user is accepted', async () => {
    const text = 'update users set username = user_id::text, canonical_name = user_id::text where user_id = $1'
    await server.database.query({ name: 'test_name_is_id', text, values: [userId] })
    expect((await users(['disable', userId, '--yes'])).code).toBe(0)
  })

  test('users list prints more users than one page, by name', async () => {
    await server.database.query({
      name: 'test_many_users',
      text: `insert into users (user_id, username, canonical_name, password_hash, created_at)
      select gen_random_uuid(), name, name, 'none', now()
      from generate_series(1, 2001) n cross join lateral (select 'many ' || lpad(n::text, 5, '0')) as many (name)`,
      values: []
    })
    const { users: found } = JSON.parse((await users(['list', '--json'])).out)
    const names = found.map((user: { username: string }) => user.username).filter((name: string) => /^many/.test(name))
    expect([names.length, names[0], names.at(-1)]).toEqual([2_001, 'many 00001', 'many 02001'])
  })
})
