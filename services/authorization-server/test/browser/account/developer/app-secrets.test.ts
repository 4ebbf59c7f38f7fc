import { describe, expect, test } from '@jest/globals'
import { decideInvitation, inviteOwner, removeOwner } from '../../../../src/browser/account/developer/app-owners.js'
import { addAppSecret, deleteAppSecret } from '../../../../src/browser/account/developer/app-secrets.js'
import { newActor, registerApp } from '../../../support/developer-apps.js'
import { ownedApp } from '../../../support/owned-app.js'

const given = ownedApp()

const add = (actor = given.alice) => addAppSecret(given.clientId, actor, given.deps)
const liveSecrets = async () => (await given.deps.secrets.list(given.clientId)).filter(({ live }) => live)

describe('secrets of an app', () => {
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
    expect(await addAppSecret(app.clientId, given.alice, given.deps)).toEqual({ kind: 'public' })
  })

  test('others get the response of an unknown app', async () => {
    const mallory = await newActor(given.world)
    const [secret] = await liveSecrets()
    expect(await add(mallory)).toEqual({ kind: 'unknown_app' })
    const command = { clientId: given.clientId, secretId: secret?.secretId ?? '' }
    expect(await deleteAppSecret(command, mallory, given.deps)).toEqual({ kind: 'unknown_app' })
  })

  test('an owner who is removed while the request is read adds and deletes none', async () => {
    const [secret] = await liveSecrets()
    const secretId = secret?.secretId ?? ''
    const join = async () => {
      await inviteOwner(
        { clientId: given.clientId, username: given.bob.user.username, transfers: false },
        given.alice,
        given.deps
      )
      await decideInvitation({ clientId: given.clientId, accept: true }, given.bob, given.deps)
    }
    /** Removes bob after he was found to be an owner, before the client is read. */
    const removing = { ...given.deps, clients: { ...given.deps.clients, findVersion: removeFirst } }
    async function removeFirst(id: string) {
      await removeOwner({ clientId: given.clientId, userId: given.bob.user.userId }, given.alice, given.deps)
      return given.deps.clients.findVersion(id)
    }
    await join()
    expect(await addAppSecret(given.clientId, given.bob, removing)).toEqual({ kind: 'unknown_app' })
    await add()
    await join()
    expect(await deleteAppSecret({ clientId: given.clientId, secretId }, given.bob, removing)).toEqual({
      kind: 'unknown_app'
    })
    expect(await liveSecrets()).toHaveLength(2)
  })
})
