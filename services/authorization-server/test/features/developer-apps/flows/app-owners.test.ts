import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  decideInvitation,
  inviteOwner,
  removeOwner,
  withdrawInvitation
} from '../../../../src/features/developer-apps/app-owners.js'
import { addAppSecret, deleteAppSecret } from '../../../../src/features/developer-apps/app-secrets.js'
import { addTester, removeTester } from '../../../../src/features/developer-apps/app-testers.js'
import { deleteApp, disableApp } from '../../../../src/features/developer-apps/end-app.js'
import {
  type Actor,
  findOwnApp,
  listOwnApps,
  type OwnAppDeps
} from '../../../../src/features/developer-apps/own-apps.js'
import { createClientStore } from '../../../../src/storage/postgres/clients.js'
import { createConsentStore } from '../../../../src/storage/postgres/consents.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'
import { rememberConsent } from '../../../support/remember-consent.js'
import { actorOf, appOf, newActor, openOwnApps, registerApp } from '../support/developer-apps.js'
import { ownedApp } from '../support/owned-app.js'

const given = ownedApp()

describe('owners', () => {
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
      expect(await createClientStore(given.world.database).isUsableBy(given.bob.user.userId, given.clientId)).toBe(
        false
      )
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
})

describe('secrets of an app', () => {
  const add = (actor = given.alice) => addAppSecret(given.clientId, actor, given.deps)
  const liveSecrets = async () => (await given.deps.secrets.list(given.clientId)).filter(({ live }) => live)

  test('two secrets can be valid at the same time', async () => {
    expect(await add()).toMatchObject({ kind: 'created', clientSecret: expect.stringMatching(/^vk_cs_/) })
    expect(await liveSecrets()).toHaveLength(2)
    expect(await add()).toEqual({ kind: 'two_are_live' })
  })

  test('five requests at the same moment add one', async () => {
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => add()))
    expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1)
    expect(await liveSecrets()).toHaveLength(2)
  })

  test('the last one cannot be deleted', async () => {
    const [first] = await liveSecrets()
    const secretId = first?.secretId ?? ''
    expect(await deleteAppSecret({ clientId: given.clientId, secretId }, given.alice, given.deps)).toEqual({
      kind: 'only_live_secret'
    })
    await add()
    expect(await deleteAppSecret({ clientId: given.clientId, secretId }, given.alice, given.deps)).toEqual({
      kind: 'done'
    })
    expect(await liveSecrets()).toHaveLength(1)
  })

  test('a public app has none', async () => {
    const app = await registerApp(given.alice, given.deps, { type: 'public' })
    expect(await addAppSecret(app.clientId, given.alice, given.deps)).toEqual({ kind: 'without_secrets' })
  })

  test('others get the response of an unknown app', async () => {
    const mallory = await newActor(given.world)
    const [secret] = await liveSecrets()
    expect(await add(mallory)).toEqual({ kind: 'unknown_app' })
    const command = { clientId: given.clientId, secretId: secret?.secretId ?? '' }
    expect(await deleteAppSecret(command, mallory, given.deps)).toEqual({ kind: 'unknown_app' })
  })

  /** Dependencies with which `change` happens after the app was read and before the secret is stored. */
  function changingMeanwhile(change: () => Promise<unknown>) {
    const list = async (clientId: string) => {
      await change()
      return given.deps.secrets.list(clientId)
    }
    return { ...given.deps, secrets: { list } }
  }

  const idOfFirst = async () => (await liveSecrets())[0]?.secretId ?? ''

  test('an owner who is removed while the request is read adds and deletes none', async () => {
    const secretId = await idOfFirst()
    const { clientId, alice, bob, deps } = given
    const join = async () => {
      await inviteOwner({ clientId, username: bob.user.username, transfers: false }, alice, deps)
      await decideInvitation({ clientId, accept: true }, bob, deps)
    }
    const removing = changingMeanwhile(() => removeOwner({ clientId, userId: bob.user.userId }, alice, deps))
    await join()
    expect(await addAppSecret(clientId, bob, removing)).toEqual({ kind: 'unknown_app' })
    await add()
    await join()
    expect(await deleteAppSecret({ clientId, secretId }, bob, removing)).toEqual({ kind: 'unknown_app' })
    expect(await liveSecrets()).toHaveLength(2)
  })

  test('an owner whose session ends while the request is read adds and deletes none', async () => {
    const { clientId, alice } = given
    const secretId = await idOfFirst()
    const ending = changingMeanwhile(() => createUserStore(given.world.database).endSessions(alice.user.userId))
    expect(await addAppSecret(clientId, alice, ending)).toEqual({ kind: 'session_ended' })
    const again = await actorOf(given.world, alice.user)
    await given.world.run(
      "insert into client_secrets (client_id, secret_hash, created_at) values ($1, decode('00', 'hex'), now())",
      [clientId]
    )
    expect(await deleteAppSecret({ clientId, secretId }, again, ending)).toEqual({ kind: 'session_ended' })
    expect(await liveSecrets()).toHaveLength(2)
  })
})

describe('testers', () => {
  let world: MigratedDatabase
  let deps: OwnAppDeps
  let alice: Actor
  let clientId: string

  beforeAll(async () => {
    ;({ world, deps } = await openOwnApps())
    alice = await newActor(world)
    clientId = (await registerApp(alice, deps)).clientId
  })
  afterAll(() => world.close())

  const add = (username: string) => addTester({ clientId, username }, alice, deps)

  test('a tester may use the app until they are removed; others may not', async () => {
    const bob = await newActor(world)
    const mayTest = () => createClientStore(world.database).isUsableBy(bob.user.userId, clientId)
    expect(await mayTest()).toBe(false)
    expect(await add(` ${bob.user.username} `)).toEqual({ kind: 'done' })
    expect(await mayTest()).toBe(true)
    await removeTester({ clientId, username: bob.user.username }, alice, deps)
    expect(await mayTest()).toBe(false)
  })

  test('the right ends with its user, and is not for the next user of that name', async () => {
    const bob = await newActor(world)
    const { username } = bob.user
    await add(username)
    await createUserStore(world.database).delete(bob.user.userId, NOTE)
    const next = await newActor(world, username)
    expect(await createClientStore(world.database).isUsableBy(next.user.userId, clientId)).toBe(false)
    // The owner does not learn of the deletion.
    expect((await appOf(alice, clientId, deps)).testers).toEqual([username])
    await add(username)
    expect(await createClientStore(world.database).isUsableBy(next.user.userId, clientId)).toBe(true)
    await removeTester({ clientId, username }, alice, deps)
    expect(await createClientStore(world.database).isUsableBy(next.user.userId, clientId)).toBe(false)
  })

  test('a name that no user has gives no right to a user who gets it later', async () => {
    await add('a later user')
    const later = await newActor(world, 'a later user')
    expect(await createClientStore(world.database).isUsableBy(later.user.userId, clientId)).toBe(false)
    await removeTester({ clientId, username: 'a later user' }, alice, deps)
  })

  test('a user who does not exist is added like one who exists', async () => {
    expect(await add('no such user')).toEqual({ kind: 'done' })
    expect(await add('\0')).toEqual({ kind: 'malformed_name' })
    expect((await appOf(alice, clientId, deps)).testers).toEqual(['no such user'])
  })

  test('there are 25 at most, also if they are added at the same moment', async () => {
    for (let count = 1; count < 24; count += 1) await add(`tester ${count}`)
    const outcomes = await Promise.all(['one more', 'another', 'a third'].map(add))
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['done', 'too_many', 'too_many'])
    expect((await appOf(alice, clientId, deps)).testers).toHaveLength(25)
  })

  test('an owner who is no tester any more keeps what they allowed', async () => {
    await removeTester({ clientId, username: 'tester 1' }, alice, deps)
    await add(alice.user.username)
    await removeTester({ clientId, username: alice.user.username }, alice, deps)
    expect(await world.run('select from authorizations where user_id = $1', [alice.user.userId])).toEqual([])
  })
})

describe('end of an app', () => {
  let world: MigratedDatabase
  let deps: OwnAppDeps
  let alice: Actor

  beforeAll(async () => {
    ;({ world, deps } = await openOwnApps())
    alice = await newActor(world)
  })
  afterAll(() => world.close())

  test('an owner disables an app once, and its tokens end', async () => {
    const { clientId } = await registerApp(alice, deps)
    expect(await disableApp(clientId, alice, deps)).toEqual({ kind: 'done' })
    expect(await disableApp(clientId, alice, deps)).toEqual({ kind: 'done' })
    expect((await findOwnApp(alice.user, clientId, deps))?.app.state).toBe('disabled')
    expect(await world.run('select generation from clients where client_id = $1', [clientId])).toEqual([
      { generation: 1 }
    ])
  })

  test('an owner deletes an app with all that belongs to it', async () => {
    const { clientId } = await registerApp(alice, deps, { name: 'Sunken Boat' })
    expect(await deleteApp(clientId, alice, deps)).toEqual({ kind: 'done' })
    expect(await findOwnApp(alice.user, clientId, deps)).toBeUndefined()
    expect(await deleteApp(clientId, alice, deps)).toEqual({ kind: 'unknown_app' })
    await registerApp(alice, deps, { name: 'Sunken Boat' })
  })

  test('others can do neither', async () => {
    const { clientId } = await registerApp(alice, deps)
    const mallory = await newActor(world)
    const consents = createConsentStore(world.database)
    const key = { userId: alice.user.userId, clientId, audience: 'https://notes.example' }
    await rememberConsent(world.database, key, ['notes.read'])
    expect(await disableApp(clientId, mallory, deps)).toEqual({ kind: 'unknown_app' })
    expect(await deleteApp(clientId, mallory, deps)).toEqual({ kind: 'unknown_app' })
    expect(await consents.findScope(key)).toEqual(['notes.read'])
    expect((await findOwnApp(alice.user, clientId, deps))?.app.state).toBe('draft')
  })
})
