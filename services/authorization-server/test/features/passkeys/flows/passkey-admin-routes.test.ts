import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { signInWithPasskey, userWithPasskey } from '../support/passkeys.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

describe('/admin/users/{user_id}/passkeys', () => {
  const path = (userId: string) => `/users/${userId}/passkeys`

  test('GET lists what the command line lists: names and times, never keys', async () => {
    const userId = await server.createUser('paula', PASSWORD)
    expect((await admin.call('GET', path(userId))).json()).toEqual({ passkeys: [] })
    const { authenticator } = await userWithPasskey(server, 'paula')
    const unused = { passkey_id: authenticator.id, name: 'Laptop', synced: false, created_at: expect.any(String) }
    expect((await admin.call('GET', path(userId))).json()).toEqual({ passkeys: [unused] })
    await signInWithPasskey(server.newBrowser(), authenticator)
    const answer = await admin.call('GET', path(userId))
    expect(answer.json()).toEqual({ passkeys: [{ ...unused, last_used_at: expect.stringMatching(/Z$/) }] })
    const { out } = await runCommand(server.database, ['users', 'passkeys', 'paula', '--json'])
    expect(JSON.parse(out)).toEqual(answer.json())
  })

  test('DELETE removes all of this user, ends the sessions and is audited; again it changes nothing', async () => {
    const userId = await server.createUser('peter', PASSWORD)
    await server.createUser('petra', PASSWORD)
    const { browser, authenticator } = await userWithPasskey(server, 'peter')
    const carol = await userWithPasskey(server, 'petra')
    const answer = await admin.call('DELETE', path(userId))
    expect([answer.statusCode, answer.json()]).toEqual([200, { user_id: userId, removed: 1 }])
    expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(303)
    expect((await signInWithPasskey(server.newBrowser(), authenticator)).statusCode).toBe(422)
    expect((await signInWithPasskey(server.newBrowser(), carol.authenticator)).statusCode).toBe(200)
    const details = { username: 'peter', actor: admin.actor }
    expect(await lastChangeIn(server)).toMatchObject({ event: 'user_passkeys_removed', user_id: userId, details })
    const before = await changesIn(server)
    expect((await admin.call('DELETE', path(userId))).json()).toEqual({ user_id: userId, removed: 0 })
    expect(await changesIn(server)).toEqual(before)
  })

  test.each([randomUUID(), 'paula'])('of the unknown user id %s is 404', async (userId) => {
    const answers = [await admin.call('GET', path(userId)), await admin.call('DELETE', path(userId))]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404])
  })
})
