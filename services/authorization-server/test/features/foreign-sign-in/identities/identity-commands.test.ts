import { describe, expect, test } from '@jest/globals'
import { lastChangeIn } from '../../../support/administration.js'
import { ISSUER } from '../../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { HANDOFF, insertIdentity, LOGIN_ISSUER, passHandoff } from '../../../support/handoff.js'
import { serverWithUser } from '../../../support/server-with-user.js'

describe('identities', () => {
  const world = serverWithUser(HANDOFF)

  const users = (...args: string[]) => runCommand(world.server.database, ['users', ...args])
  const identity = () => ['--issuer', LOGIN_ISSUER, '--subject', world.subject]

  describe('users link', () => {
    test('lets the identity sign in, is audited, and says the same a second time', async () => {
      const first = await users('link', world.username, ...identity(), '--json')
      expect(first.code).toBe(0)
      expect(JSON.parse(first.out)).toMatchObject({
        issuer: LOGIN_ISSUER,
        subject: world.subject,
        user_id: world.userId
      })
      expect(await lastChangeIn(world.server)).toMatchObject({
        event: 'identity_linked',
        user_id: world.userId,
        details: {
          username: world.username,
          issuer: LOGIN_ISSUER,
          subject: world.subject,
          actor: { kind: 'command_line', name: OPERATOR }
        }
      })
      expect(await users('link', world.userId, ...identity(), '--json')).toEqual(first)
      expect((await passHandoff(world.server.newBrowser(), { sub: world.subject })).url).toBe(`${ISSUER}/account/apps`)
    })

    test('refuses an identity of another user without naming the user', async () => {
      await insertIdentity(
        world.server,
        await world.server.createUser(`${world.username}-owner`, PASSWORD),
        world.subject
      )
      const { code, said } = await users('link', world.username, ...identity())
      expect([code, said]).toEqual([4, 'the identity is linked to another user'])
    })

    test.each([
      { name: 'no subject', args: ['--issuer', LOGIN_ISSUER], code: 2 },
      { name: 'an empty subject', args: ['--issuer', LOGIN_ISSUER, '--subject', ''], code: 2 },
      { name: 'a subject with a line break', args: ['--issuer', LOGIN_ISSUER, '--subject', 'a\nb'], code: 2 }
    ])('with $name is refused', async ({ args, code }) => {
      expect((await users('link', world.username, ...args)).code).toBe(code)
    })

    test('to an unknown user is refused', async () => {
      expect((await users('link', 'unknown-user', ...identity())).code).toBe(3)
    })
  })

  describe('users unlink', () => {
    test('asks, unlinks the identity, and ends the sessions', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const browser = world.server.newBrowser()
      await passHandoff(browser, { sub: world.subject })
      expect((await users('unlink', world.username, ...identity())).code).toBe(2)
      expect((await users('unlink', world.username, ...identity(), '--yes')).out).toContain(`Unlinked ${world.subject}`)
      expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(303)
      expect(await lastChangeIn(world.server)).toMatchObject({ event: 'identity_unlinked', user_id: world.userId })
      expect((await users('unlink', world.username, ...identity(), '--yes')).code).toBe(3)
    })

    test('of an identity of another user is not found', async () => {
      await insertIdentity(
        world.server,
        await world.server.createUser(`${world.username}-owner`, PASSWORD),
        world.subject
      )
      expect((await users('unlink', world.username, ...identity(), '--yes')).code).toBe(3)
    })
  })

  test('users identities lists them, with the last use', async () => {
    expect((await users('identities', world.username)).out).toContain('has no identities')
    await insertIdentity(world.server, world.userId, world.subject)
    expect((await users('identities', world.username)).out).toMatch(
      new RegExp(`${LOGIN_ISSUER} +${world.subject} +never`)
    )
    await passHandoff(world.server.newBrowser(), { sub: world.subject })
    const { out } = await users('identities', world.username, '--json')
    expect(JSON.parse(out).identities).toMatchObject([
      { issuer: LOGIN_ISSUER, subject: world.subject, last_used_at: expect.any(String) }
    ])
  })

  describe('users disable with an identity, for scripts', () => {
    test('disables the user, and says the same a second time', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const first = await users('disable', ...identity(), '--yes', '--json')
      expect(JSON.parse(first.out)).toMatchObject({ user_id: world.userId, disabled: true })
      expect(await users('disable', ...identity(), '--yes', '--json')).toEqual(first)
    })

    test.each([
      { name: 'an unknown identity', args: () => identity(), code: 3 },
      { name: 'an issuer alone', args: () => ['--issuer', LOGIN_ISSUER], code: 2 },
      { name: 'a user and an identity', args: () => [world.username, ...identity()], code: 2 },
      { name: 'nothing', args: () => [], code: 2 }
    ])('with $name disables no user', async ({ args, code }) => {
      expect((await users('disable', ...args(), '--yes')).code).toBe(code)
      const { out } = await users('list', '--json')
      expect(
        JSON.parse(out).users.find((each: { username: string }) => each.username === world.username)
      ).toMatchObject({
        disabled: false
      })
    })
  })
})
