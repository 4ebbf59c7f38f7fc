import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  answerInvitation,
  inviteOwner,
  removeOwner,
  withdrawInvitation
} from '../../../../src/browser/account/developer/app-owners.js'
import { type Actor, listOwnApps, type OwnAppDeps } from '../../../../src/browser/account/developer/own-apps.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import { appOf, newActor, openOwnApps, registerApp } from '../../../support/developer-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor
let bob: Actor
let clientId: string

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
})
beforeEach(async () => {
  alice = await newActor(world)
  bob = await newActor(world)
  clientId = (await registerApp(alice, deps)).clientId
})
afterAll(() => world.close())

const invite = (username: string, transfers = false) => inviteOwner({ clientId, username, transfers }, alice, deps)
const accept = (actor: Actor) => answerInvitation({ clientId, accept: true }, actor, deps)
const ownersOf = async () => (await deps.apps.find(clientId))?.owners.map(({ userId }) => userId)
const share = async () => {
  await invite(bob.user.username)
  await accept(bob)
}

describe('an invitation', () => {
  test('makes the user an owner only when they accept', async () => {
    expect(await invite(bob.user.username)).toEqual({ kind: 'invited' })
    expect(await ownersOf()).toEqual([alice.user.userId])
    expect((await listOwnApps(bob.user, deps)).invitations).toMatchObject([
      { clientId, invitedBy: alice.user.username }
    ])
    expect(await accept(bob)).toEqual({ kind: 'done' })
    expect(await ownersOf()).toEqual([alice.user.userId, bob.user.userId])
    expect(await accept(bob)).toEqual({ kind: 'unknown_app' })
  })

  test('of a user who does not exist has the same outcome', async () => {
    expect(await invite('unknown-user')).toEqual({ kind: 'invited' })
  })

  test('is not for others', async () => {
    await invite('another user')
    expect(await accept(bob)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([alice.user.userId])
  })

  test('that was declined or withdrawn cannot be accepted', async () => {
    await invite(bob.user.username)
    await answerInvitation({ clientId, accept: false }, bob, deps)
    expect(await accept(bob)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([alice.user.userId])
    await invite(bob.user.username)
    await withdrawInvitation({ clientId, username: bob.user.username }, alice, deps)
    expect(await accept(bob)).toEqual({ kind: 'unknown_app' })
  })

  test('to take over the app removes the owner who invited', async () => {
    await invite(bob.user.username, true)
    await accept(bob)
    expect(await ownersOf()).toEqual([bob.user.userId])
    expect(await invite('another')).toEqual({ kind: 'unknown_app' })
  })

  test('of an owner who handed the app over is withdrawn', async () => {
    const carol = await newActor(world)
    await invite(carol.user.username)
    await invite(bob.user.username, true)
    await accept(bob)
    expect(await accept(carol)).toEqual({ kind: 'unknown_app' })
    expect(await ownersOf()).toEqual([bob.user.userId])
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
    expect(await removeOwner({ clientId, userId: alice.user.userId }, alice, deps)).toEqual({ kind: 'last_owner' })
  })

  test('of each other at the same moment leaves one', async () => {
    await share()
    await Promise.all([
      removeOwner({ clientId, userId: bob.user.userId }, alice, deps),
      removeOwner({ clientId, userId: alice.user.userId }, bob, deps)
    ])
    expect(await ownersOf()).toHaveLength(1)
  })

  test('leaves no app whose only owner is disabled', async () => {
    await share()
    await createUserStore(world.database).disable(bob.user.userId, NOTE)
    expect(await removeOwner({ clientId, userId: alice.user.userId }, alice, deps)).toEqual({ kind: 'last_owner' })
  })

  test('ends what they can do', async () => {
    await share()
    expect(await removeOwner({ clientId, userId: bob.user.userId }, alice, deps)).toEqual({ kind: 'done' })
    await expect(appOf(bob, clientId, deps)).rejects.toThrow()
    expect(await deps.apps.mayTest(bob.user.userId, clientId)).toBe(false)
  })
})

describe('an app whose owner ends', () => {
  const stateOf = async () => (await deps.apps.find(clientId))?.state
  const generation = async () =>
    (await world.run<{ generation: number }>('select generation from clients where client_id = $1', [clientId]))[0]
      ?.generation

  test.each(['disable', 'delete'] as const)('is disabled with its last enabled owner (%s)', async (end) => {
    await createUserStore(world.database)[end](alice.user.userId, NOTE)
    expect(await stateOf()).toBe('disabled')
    expect(await generation()).toBe(1)
    const rows = await world.run("select user_id from audit_events where client_id = $1 and event = 'app_disabled'", [
      clientId
    ])
    expect(rows).toEqual([{ user_id: alice.user.userId }])
  })

  test('works while another owner is enabled', async () => {
    await share()
    await createUserStore(world.database).disable(alice.user.userId, NOTE)
    expect(await stateOf()).toBe('draft')
  })

  test('is disabled if both owners are disabled at the same moment', async () => {
    await share()
    const users = createUserStore(world.database)
    await Promise.all([alice, bob].map(({ user }) => users.disable(user.userId, NOTE)))
    expect(await stateOf()).toBe('disabled')
  })

  test('is not created by a user who is disabled at the same moment', async () => {
    const carol = await newActor(world)
    await Promise.all([
      createUserStore(world.database).disable(carol.user.userId, NOTE),
      registerApp(carol, deps).catch(() => {})
    ])
    const apps = await deps.apps.list(carol.user.userId)
    expect(apps.every(({ state }) => state === 'disabled')).toBe(true)
  })
})
