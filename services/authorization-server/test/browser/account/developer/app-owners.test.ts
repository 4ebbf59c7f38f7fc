import { describe, expect, test } from '@jest/globals'
import {
  decideInvitation,
  inviteOwner,
  removeOwner,
  withdrawInvitation
} from '../../../../src/browser/account/developer/app-owners.js'
import { type Actor, listOwnApps } from '../../../../src/browser/account/developer/own-apps.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import { appOf, newActor, registerApp } from '../../../support/developer-apps.js'
import { ownedApp } from '../../../support/owned-app.js'

const given = ownedApp()

const invite = (username: string, transfers = false) =>
  inviteOwner({ clientId: given.clientId, username, transfers }, given.alice, given.deps)
const accept = (actor: Actor) => decideInvitation({ clientId: given.clientId, accept: true }, actor, given.deps)
const ownersOf = async () => (await given.deps.apps.find(given.clientId))?.owners.map(({ userId }) => userId)
const share = async () => {
  await invite(given.bob.user.username)
  await accept(given.bob)
}

describe('an invitation', () => {
  test('makes the user an owner only when they accept', async () => {
    expect(await invite(given.bob.user.username)).toEqual({ kind: 'invited' })
    expect(await ownersOf()).toEqual([given.alice.user.userId])
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toMatchObject([
      { clientId: given.clientId, invitedBy: given.alice.user.username }
    ])
    expect(await accept(given.bob)).toEqual({ kind: 'done' })
    expect(await ownersOf()).toEqual([given.alice.user.userId, given.bob.user.userId])
    expect(await accept(given.bob)).toEqual({ kind: 'unknown_app' })
  })

  test('of a user who does not exist has the same outcome', async () => {
    expect(await invite('unknown-user')).toEqual({ kind: 'invited' })
  })

  test('is not for others', async () => {
    await invite('another user')
    expect(await accept(given.bob)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([given.alice.user.userId])
  })

  test('ends with its user, and is not for the next user of that name', async () => {
    const { username } = given.bob.user
    await invite(username)
    await createUserStore(given.world.database).delete(given.bob.user.userId, NOTE)
    const next = await newActor(given.world, username)
    expect((await listOwnApps(next.user, given.deps)).invitations).toEqual([])
    expect(await accept(next)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([given.alice.user.userId])
    // The owner does not learn of the deletion.
    const { invitations } = await appOf(given.alice, given.clientId, given.deps)
    expect(invitations.map((each) => each.username)).toEqual([username])
    await invite(username)
    expect(await accept(next)).toEqual({ kind: 'done' })
  })

  test('of a name that no user has is not for a user who gets it later', async () => {
    const username = `later-${given.clientId}`
    await invite(username)
    expect(await accept(await newActor(given.world, username))).toEqual({ kind: 'unknown_app' })
  })

  test('expires after 7 days, and its place is free then', async () => {
    await invite(given.bob.user.username)
    const age = (interval: string) =>
      given.world.run(`update app_invitations set invited_at = now() - $2::interval where client_id = $1`, [
        given.clientId,
        interval
      ])
    await age('6 days 23 hours')
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toHaveLength(1)
    for (let index = 1; index < 5; index++) await invite(`invited ${index}`)
    expect((await invite('one more')).kind).toBe('too_many')
    await age('7 days')
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toEqual([])
    expect((await appOf(given.alice, given.clientId, given.deps)).invitations).toEqual([])
    expect(await accept(given.bob)).toEqual({ kind: 'unknown_app' })
    for (let index = 4; index < 9; index++) expect(await invite(`invited ${index}`)).toEqual({ kind: 'invited' })
    expect((await invite('one more')).kind).toBe('too_many')
  })

  test('that was declined or withdrawn cannot be accepted', async () => {
    await invite(given.bob.user.username)
    await decideInvitation({ clientId: given.clientId, accept: false }, given.bob, given.deps)
    expect(await accept(given.bob)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([given.alice.user.userId])
    await invite(given.bob.user.username)
    await withdrawInvitation({ clientId: given.clientId, username: given.bob.user.username }, given.alice, given.deps)
    expect(await accept(given.bob)).toEqual({ kind: 'unknown_app' })
  })

  test('to take over the app removes the owner who invited', async () => {
    await invite(given.bob.user.username, true)
    await accept(given.bob)
    expect(await ownersOf()).toEqual([given.bob.user.userId])
    expect(await invite('another')).toEqual({ kind: 'unknown_app' })
  })

  test('of an owner who handed the app over is withdrawn', async () => {
    const carol = await newActor(given.world)
    await invite(carol.user.username)
    await invite(given.bob.user.username, true)
    await accept(given.bob)
    expect(await accept(carol)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([given.bob.user.userId])
  })

  test('is one of five at most', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `invited ${index}`)
    const outcomes = []
    for (const name of names) outcomes.push((await invite(name)).kind)
    expect(outcomes).toEqual([...Array(5).fill('invited'), 'too_many'])
    // Replaces the earlier one.
    expect(await invite('invited 0', true)).toEqual({ kind: 'invited' })
  })
})

describe('removal of owners', () => {
  test('leaves the last one', async () => {
    expect(
      await removeOwner({ clientId: given.clientId, userId: given.alice.user.userId }, given.alice, given.deps)
    ).toEqual({ kind: 'last_owner' })
  })

  test('of each other at the same moment leaves one', async () => {
    await share()
    await Promise.all([
      removeOwner({ clientId: given.clientId, userId: given.bob.user.userId }, given.alice, given.deps),
      removeOwner({ clientId: given.clientId, userId: given.alice.user.userId }, given.bob, given.deps)
    ])
    expect(await ownersOf()).toHaveLength(1)
  })

  test('leaves no app whose only owner is disabled', async () => {
    await share()
    await createUserStore(given.world.database).disable(given.bob.user.userId, NOTE)
    expect(
      await removeOwner({ clientId: given.clientId, userId: given.alice.user.userId }, given.alice, given.deps)
    ).toEqual({ kind: 'last_owner' })
  })

  test('a removed owner cannot change or test the app', async () => {
    await share()
    expect(
      await removeOwner({ clientId: given.clientId, userId: given.bob.user.userId }, given.alice, given.deps)
    ).toEqual({ kind: 'done' })
    await expect(appOf(given.bob, given.clientId, given.deps)).rejects.toThrow()
    expect(await given.deps.apps.mayTest(given.bob.user.userId, given.clientId)).toBe(false)
  })
})

describe('an app whose owner is disabled or deleted', () => {
  const stateOf = async () => (await given.deps.apps.find(given.clientId))?.state
  const generation = async () =>
    (
      await given.world.run<{ generation: number }>('select generation from clients where client_id = $1', [
        given.clientId
      ])
    )[0]?.generation

  test.each(['disable', 'delete'] as const)('is disabled with its last enabled owner (%s)', async (end) => {
    await createUserStore(given.world.database)[end](given.alice.user.userId, NOTE)
    expect(await stateOf()).toBe('disabled')
    expect(await generation()).toBe(1)
    const rows = await given.world.run(
      "select user_id from audit_events where client_id = $1 and event = 'app_disabled'",
      [given.clientId]
    )
    expect(rows).toEqual([{ user_id: given.alice.user.userId }])
  })

  test('works while another owner is enabled', async () => {
    await share()
    await createUserStore(given.world.database).disable(given.alice.user.userId, NOTE)
    expect(await stateOf()).toBe('draft')
  })

  test('is disabled if both owners are disabled at the same moment', async () => {
    await share()
    const users = createUserStore(given.world.database)
    await Promise.all([given.alice, given.bob].map(({ user }) => users.disable(user.userId, NOTE)))
    expect(await stateOf()).toBe('disabled')
  })

  test('is not created by a user who is disabled at the same moment', async () => {
    const carol = await newActor(given.world)
    await Promise.all([
      createUserStore(given.world.database).disable(carol.user.userId, NOTE),
      registerApp(carol, given.deps).catch(() => {})
    ])
    const apps = await given.deps.apps.list(carol.user.userId)
    expect(apps.every(({ state }) => state === 'disabled')).toBe(true)
  })
})
