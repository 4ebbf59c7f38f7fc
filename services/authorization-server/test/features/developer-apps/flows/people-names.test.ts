import { describe, expect, test } from '@jest/globals'
import { inviteOwner, withdrawInvitation } from '../../../../src/features/developer-apps/app-owners.js'
import { addTester, removeTester } from '../../../../src/features/developer-apps/app-testers.js'
import { listOwnApps } from '../../../../src/features/developer-apps/own-apps.js'
import { createClientStore } from '../../../../src/storage/postgres/clients.js'
import { appOf, newActor } from '../support/developer-apps.js'
import { ownedApp } from '../support/owned-app.js'

describe('people of apps in another spelling', () => {
  const given = ownedApp()
  const upper = () => given.bob.user.username.toUpperCase()
  const lower = () => given.bob.user.username.toLowerCase()
  const peopleOf = async () => {
    const { testers, invitations } = await appOf(given.alice, given.clientId, given.deps)
    return { testers, invitations: invitations.map(({ username }) => username) }
  }

  test('a test user has the right, is shown as typed, is one of them, and is removed', async () => {
    const mayTest = () => createClientStore(given.world.database).isUsableBy(given.bob.user.userId, given.clientId)
    const command = (username: string) => ({ clientId: given.clientId, username })
    await addTester(command(upper()), given.alice, given.deps)
    expect([await mayTest(), (await peopleOf()).testers]).toEqual([true, [upper()]])
    await addTester(command(lower()), given.alice, given.deps)
    expect((await peopleOf()).testers).toEqual([lower()])
    await removeTester(command(upper()), given.alice, given.deps)
    expect([await mayTest(), (await peopleOf()).testers]).toEqual([false, []])
  })

  test('an invited owner is invited once, and the invitation is withdrawn', async () => {
    const invite = (username: string) =>
      inviteOwner({ clientId: given.clientId, username, transfers: false }, given.alice, given.deps)
    await invite(upper())
    await invite(lower())
    expect((await peopleOf()).invitations).toEqual([lower()])
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toHaveLength(1)
    await withdrawInvitation({ clientId: given.clientId, username: upper() }, given.alice, given.deps)
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toEqual([])
  })

  test('an owner is known', async () => {
    const nora = await newActor(given.world, `Nora-${given.clientId}`)
    const username = nora.user.username.toUpperCase()
    const owner = given.alice.user.username.toUpperCase()
    const invite = (name: string) =>
      inviteOwner({ clientId: given.clientId, username: name, transfers: false }, given.alice, given.deps)
    expect([(await invite(owner)).kind, (await invite(username)).kind]).toEqual(['is_owner', 'invited'])
  })
})
