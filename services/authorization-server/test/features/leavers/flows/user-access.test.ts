import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { type Credentials, ISSUER } from '../../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../../support/command-line.js'
import { exchange, obtainCode, PASSWORD, refresh } from '../../../support/flow.js'
import { HANDOFF, LOGIN_ISSUER } from '../../../support/handoff.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import { attemptSignIn } from '../../../support/sign-in.js'
import { isActive, pairOf } from '../../../support/tokens.js'

const PATH = '/global-token-revocation'

describe('one call for a leaver', () => {
  const world = serverWithUser(HANDOFF)
  let admin: Administration
  let client: Credentials
  let resourceServer: Credentials

  beforeAll(async () => {
    const { server } = world
    admin = await startAdministration(server)
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })

  const revoke = (subId: object) => admin.call('POST', PATH, { sub_id: subId })
  const link = () => admin.call('POST', `/users/${world.userId}/identities`, identity())
  const identity = () => ({ issuer: LOGIN_ISSUER, subject: world.subject })
  const obtain = async (username: string) =>
    pairOf(await exchange(world.server, client, await obtainCode(world.server, client, { username })))

  async function signedInBrowser() {
    const browser = world.server.newBrowser()
    await browser.submit(await browser.open(`${ISSUER}/login`), { username: world.username, password: PASSWORD })
    return async () => (await browser.get(`${ISSUER}/account/apps`)).statusCode === 200
  }

  describe('POST /admin/global-token-revocation', () => {
    test.each([
      { name: 'opaque', make: () => ({ format: 'opaque', id: world.userId }) },
      { name: 'iss_sub of this server', make: () => ({ format: 'iss_sub', iss: ISSUER, sub: world.userId }) },
      { name: 'iss_sub of a provider', make: () => ({ format: 'iss_sub', iss: LOGIN_ISSUER, sub: world.subject }) }
    ])('$name: ends sessions, codes and tokens of this user alone, who may sign in again', async ({ make }) => {
      const { server, username, userId } = world
      await link()
      const tokens = await obtain(username)
      const code = await obtainCode(server, client, { username })
      const isSignedIn = await signedInBrowser()
      await server.createUser(`beside-${username}`, PASSWORD)
      const others = await obtain(`beside-${username}`)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      expect(await isSignedIn()).toBe(true)

      const answer = await revoke(make())
      expect([answer.statusCode, answer.body]).toEqual([204, ''])
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
      expect((await exchange(server, client, code)).json().error).toBe('invalid_grant')
      expect(await isSignedIn()).toBe(false)
      expect(await isActive(server, resourceServer, others.access_token)).toBe(true)
      expect((await attemptSignIn(server, { username, password: PASSWORD })).statusCode).toBe(303)
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'user_access_ended',
        user_id: userId,
        details: { username, actor: admin.actor }
      })
    })

    test('a second call ends what the user got meanwhile', async () => {
      const identifier = { format: 'opaque', id: world.userId }
      await revoke(identifier)
      const tokens = await obtain(world.username)
      expect((await revoke(identifier)).statusCode).toBe(204)
      expect(await isActive(world.server, resourceServer, tokens.access_token)).toBe(false)
    })

    test.each([
      { subId: { format: 'opaque', id: randomUUID() }, status: 404 },
      { subId: { format: 'opaque', id: 'alice' }, status: 404 },
      { subId: { format: 'iss_sub', iss: ISSUER, sub: 'alice' }, status: 404 },
      { subId: { format: 'iss_sub', iss: LOGIN_ISSUER, sub: 'u-unknown' }, status: 404 },
      { subId: { format: 'iss_sub', iss: LOGIN_ISSUER, sub: 'a\u0000' }, status: 422 },
      { subId: { format: 'iss_sub', iss: LOGIN_ISSUER }, status: 400 },
      { subId: { format: 'opaque', id: 1 }, status: 400 },
      { subId: { format: 'email', email: 'alice@example.com' }, status: 400 },
      { subId: { format: 'opaque' }, status: 400 },
      { subId: {}, status: 400 }
    ])('$subId is $status, and changes nothing', async ({ subId, status }) => {
      const before = await changesIn(world.server)
      expect((await revoke(subId)).statusCode).toBe(status)
      expect(await changesIn(world.server)).toEqual(before)
    })

    test('without sub_id, or without a key, nothing happens', async () => {
      expect((await admin.call('POST', PATH, {})).statusCode).toBe(400)
      const { operatorServer } = world.server
      const payload = { sub_id: { format: 'opaque', id: world.userId } }
      expect((await operatorServer.inject({ method: 'POST', url: `/admin${PATH}`, payload })).statusCode).toBe(401)
    })
  })

  describe('users sign-out-everywhere', () => {
    const run = (args: readonly string[], surroundings = {}) =>
      runCommand(world.server.database, ['users', 'sign-out-everywhere', ...args], surroundings)
    let tokens: Awaited<ReturnType<typeof obtain>>

    beforeEach(async () => {
      tokens = await obtain(world.username)
    })

    test.each([
      { name: 'a name', make: () => [world.username] },
      { name: 'an id', make: () => [world.userId] },
      { name: 'an identity', make: () => ['--issuer', LOGIN_ISSUER, '--subject', world.subject] }
    ])('$name: ends the tokens and is audited', async ({ make }) => {
      const { server, username, userId } = world
      await link()
      const { code, out } = await run([...make(), '--yes', '--json'])
      expect([code, JSON.parse(out)]).toMatchObject([0, { user_id: userId, username, disabled: false }])
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'user_access_ended',
        user_id: userId,
        details: { username, actor: { kind: 'command_line', name: OPERATOR } }
      })
    })

    test('No changes nothing; without a terminal it is refused; an unknown user is 3', async () => {
      const refused = await run([world.username], { answer: false })
      expect([refused.code, refused.said]).toEqual([1, expect.stringContaining(world.username)])
      expect((await run([world.username])).code).toBe(2)
      expect((await run(['unknown', '--yes'])).code).toBe(3)
      expect((await run(['--yes'])).code).toBe(2)
      expect(await isActive(world.server, resourceServer, tokens.access_token)).toBe(true)
    })
  })
})
