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
    const setGeneration = (generation: number) =>
      given.world.run('update users set session_generation = $2 where user_id = $1', [alice.user.userId, generation])
    const ending = changingMeanwhile(() => setGeneration(1))
    expect(await addAppSecret(clientId, alice, ending)).toEqual({ kind: 'session_ended' })
    await setGeneration(0)
    await given.world.run(
      "insert into client_secrets (client_id, secret_hash, created_at) values ($1, decode('00', 'hex'), now())",
      [clientId]
    )
    expect(await deleteAppSecret({ clientId, secretId }, alice, ending)).toEqual({ kind: 'session_ended' })
    expect(await liveSecrets()).toHaveLength(2)
  })
})
