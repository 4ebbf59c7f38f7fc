import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { answerInvitation, inviteOwner, removeOwner } from '../../../../src/browser/account/developer/app-owners.js'
import { addAppSecret, deleteAppSecret } from '../../../../src/browser/account/developer/app-secrets.js'
import type { Actor, OwnAppDeps } from '../../../../src/browser/account/developer/own-apps.js'
import { newActor, openOwnApps, registerApp } from '../../../support/developer-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor
let clientId: string

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
})
beforeEach(async () => {
  alice = await newActor(world)
  clientId = (await registerApp(alice, deps)).clientId
})
afterAll(() => world.close())

const add = (actor = alice) => addAppSecret(clientId, actor, deps)
const liveSecrets = async () => (await deps.secrets.list(clientId)).filter(({ live }) => live)

describe('secrets of an app', () => {
  test('two can be valid at once', async () => {
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
    expect(await deleteAppSecret({ clientId, secretId }, alice, deps)).toEqual({ kind: 'only_live_secret' })
    await add()
    expect(await deleteAppSecret({ clientId, secretId }, alice, deps)).toEqual({ kind: 'done' })
    expect(await liveSecrets()).toHaveLength(1)
  })

  test('a public app has none', async () => {
    const app = await registerApp(alice, deps, { type: 'public' })
    expect(await addAppSecret(app.clientId, alice, deps)).toEqual({ kind: 'public' })
  })

  test('others get the response of an unknown app', async () => {
    const mallory = await newActor(world)
    const [secret] = await liveSecrets()
    expect(await add(mallory)).toEqual({ kind: 'unknown_app' })
    const command = { clientId, secretId: secret?.secretId ?? '' }
    expect(await deleteAppSecret(command, mallory, deps)).toEqual({ kind: 'unknown_app' })
  })

  test('an owner who is removed while the request is read adds and deletes none', async () => {
    const bob = await newActor(world)
    const [secret] = await liveSecrets()
    const secretId = secret?.secretId ?? ''
    const join = async () => {
      await inviteOwner({ clientId, username: bob.user.username, transfers: false }, alice, deps)
      await answerInvitation({ clientId, accept: true }, bob, deps)
    }
    /** Removes bob after he was found to be an owner, before the client is read. */
    const removing = { ...deps, clients: { ...deps.clients, findVersion: removeFirst } }
    async function removeFirst(id: string) {
      await removeOwner({ clientId, userId: bob.user.userId }, alice, deps)
      return deps.clients.findVersion(id)
    }
    await join()
    expect(await addAppSecret(clientId, bob, removing)).toEqual({ kind: 'unknown_app' })
    await add()
    await join()
    expect(await deleteAppSecret({ clientId, secretId }, bob, removing)).toEqual({ kind: 'unknown_app' })
    expect(await liveSecrets()).toHaveLength(2)
  })
})
