import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { lastChangeIn } from '../../../support/administration.js'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { signInWithPasskey, userWithPasskey } from '../support/passkeys.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const users = (...args: string[]) => runCommand(server.database, ['users', ...args])

test('users passkeys lists names and times, never keys', async () => {
  await server.createUser('paula', PASSWORD)
  expect((await users('passkeys', 'paula')).out).toBe('User paula has no passkeys.\n')
  const { authenticator } = await userWithPasskey(server, 'paula')
  expect((await users('passkeys', 'paula')).out).toMatch(/^\d{4}-.*Z {2}Laptop\n$/)
  const [passkey, ...others] = JSON.parse((await users('passkeys', 'paula', '--json')).out).passkeys
  expect(others).toEqual([])
  expect(passkey).toEqual({
    passkey_id: authenticator.id,
    name: 'Laptop',
    synced: false,
    created_at: expect.any(String)
  })
})

test('users remove-passkeys removes all passkeys of the user, ends sessions, and is recorded; again it changes nothing', async () => {
  const userId = await server.createUser('peter', PASSWORD)
  await server.createUser('petra', PASSWORD)
  const { browser, authenticator } = await userWithPasskey(server, 'peter')
  const carol = await userWithPasskey(server, 'petra')
  expect((await users('remove-passkeys', 'peter')).code).toBe(2)
  const { code, out } = await users('remove-passkeys', 'peter', '--yes', '--json')
  expect([code, JSON.parse(out)]).toEqual([0, { user_id: userId, removed: 1 }])
  expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(303)
  expect((await signInWithPasskey(server.newBrowser(), authenticator)).statusCode).toBe(422)
  expect((await signInWithPasskey(server.newBrowser(), carol.authenticator)).statusCode).toBe(200)
  const actor = { kind: 'command_line', name: OPERATOR }
  expect(await lastChangeIn(server)).toMatchObject({
    event: 'user_passkeys_removed',
    details: { actor, username: 'peter' }
  })
  expect((await users('remove-passkeys', 'peter', '--yes')).out).toBe('Removed 0 passkeys of user peter\n')
})
