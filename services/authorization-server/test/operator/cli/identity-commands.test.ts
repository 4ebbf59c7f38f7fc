import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { lastChangeIn } from '../../support/administration.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { PASSWORD } from '../../support/flow.js'
import { HANDOFF, insertIdentity, LOGIN_ISSUER, passHandoff } from '../../support/handoff.js'

let server: TestServer
let number = 0
let username: string
let userId: string
let subject: string

beforeAll(async () => {
  server = await startTestServer(HANDOFF)
})
beforeEach(async () => {
  number += 1
  username = `user-${number}`
  subject = `person-${number}`
  userId = await server.createUser(username, PASSWORD)
})
afterAll(() => server.close())

const users = (...args: string[]) => runCommand(server.database, ['users', ...args])
const identity = () => ['--issuer', LOGIN_ISSUER, '--subject', subject]

describe('users link', () => {
  test('lets the identity sign in, is audited, and says the same a second time', async () => {
    const first = await users('link', username, ...identity(), '--json')
    expect(first.code).toBe(0)
    expect(JSON.parse(first.out)).toMatchObject({ issuer: LOGIN_ISSUER, subject, user_id: userId })
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'identity_linked',
      user_id: userId,
      details: { username, issuer: LOGIN_ISSUER, subject, actor: { kind: 'command_line', name: OPERATOR } }
    })
    expect(await users('link', userId, ...identity(), '--json')).toEqual(first)
    expect((await passHandoff(server.newBrowser(), { sub: subject })).url).toBe(`${ISSUER}/account/apps`)
  })

  test('refuses an identity of another user without naming the user', async () => {
    await insertIdentity(server, await server.createUser(`${username}-owner`, PASSWORD), subject)
    const { code, said } = await users('link', username, ...identity())
    expect([code, said]).toEqual([4, 'the identity is linked to another user'])
  })

  test.each([
    { name: 'no subject', args: ['--issuer', LOGIN_ISSUER], code: 2 },
    { name: 'an empty subject', args: ['--issuer', LOGIN_ISSUER, '--subject', ''], code: 2 },
    { name: 'a subject with a line break', args: ['--issuer', LOGIN_ISSUER, '--subject', 'a\nb'], code: 2 }
  ])('with $name is refused', async ({ args, code }) => {
    expect((await users('link', username, ...args)).code).toBe(code)
  })

  test('to an unknown user is refused', async () => {
    expect((await users('link', 'unknown-user', ...identity())).code).toBe(3)
  })
})

describe('users unlink', () => {
  test('asks, takes the identity away, and ends the sessions', async () => {
    await insertIdentity(server, userId, subject)
    const browser = server.newBrowser()
    await passHandoff(browser, { sub: subject })
    expect((await users('unlink', username, ...identity())).code).toBe(2)
    expect((await users('unlink', username, ...identity(), '--yes')).out).toContain(`Unlinked ${subject}`)
    expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(303)
    expect(await lastChangeIn(server)).toMatchObject({ event: 'identity_unlinked', user_id: userId })
    expect((await users('unlink', username, ...identity(), '--yes')).code).toBe(3)
  })

  test('of an identity of another user is not found', async () => {
    await insertIdentity(server, await server.createUser(`${username}-owner`, PASSWORD), subject)
    expect((await users('unlink', username, ...identity(), '--yes')).code).toBe(3)
  })
})

test('users identities lists them, with the last use', async () => {
  expect((await users('identities', username)).out).toContain('has no identities')
  await insertIdentity(server, userId, subject)
  expect((await users('identities', username)).out).toMatch(new RegExp(`${LOGIN_ISSUER} +${subject} +never`))
  await passHandoff(server.newBrowser(), { sub: subject })
  const { out } = await users('identities', username, '--json')
  expect(JSON.parse(out).identities).toMatchObject([
    { issuer: LOGIN_ISSUER, subject, last_used_at: expect.any(String) }
  ])
})

describe('users disable with an identity, for scripts', () => {
  test('disables the user, and says the same a second time', async () => {
    await insertIdentity(server, userId, subject)
    const first = await users('disable', ...identity(), '--yes', '--json')
    expect(JSON.parse(first.out)).toMatchObject({ user_id: userId, disabled: true })
    expect(await users('disable', ...identity(), '--yes', '--json')).toEqual(first)
  })

  test.each([
    { name: 'an unknown identity', args: () => identity(), code: 3 },
    { name: 'an issuer alone', args: () => ['--issuer', LOGIN_ISSUER], code: 2 },
    { name: 'a user and an identity', args: () => [username, ...identity()], code: 2 },
    { name: 'nothing', args: () => [], code: 2 }
  ])('with $name disables no user', async ({ args, code }) => {
    expect((await users('disable', ...args(), '--yes')).code).toBe(code)
    const { out } = await users('list', '--json')
    expect(JSON.parse(out).users.find((each: { username: string }) => each.username === username)).toMatchObject({
      disabled: false
    })
  })
})
