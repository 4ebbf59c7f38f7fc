import { describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { decideInvitation, inviteOwner } from '../../../src/browser/account/developer/app-owners.js'
import { addTester } from '../../../src/browser/account/developer/app-testers.js'
import type { Actor } from '../../../src/browser/account/developer/own-apps.js'
import { requestApproval } from '../../../src/browser/account/developer/request-approval.js'
import { NOTE } from '../../support/audit-note.js'
import { appOf, ownAppDeps } from '../../support/developer-apps.js'
import { ownedApp } from '../../support/owned-app.js'
import { untilBlocked } from '../../support/until-blocked.js'

const given = ownedApp()

const app = () => appOf(given.alice, given.clientId, given.deps)
const publish = () => requestApproval(given.clientId, given.alice, ownAppDeps(given.world, 'open'))

async function makeOwner(actor: Actor): Promise<void> {
  await inviteOwner(
    { clientId: given.clientId, username: actor.user.username, transfers: false },
    given.alice,
    given.deps
  )
  await decideInvitation({ clientId: given.clientId, accept: true }, actor, given.deps)
}

const removeOwner = async ({ user }: Actor, by = given.alice) =>
  given.deps.people.removeOwner(by.user, await app(), user.userId, NOTE)

/** How often the access that the user gave to the app was ended. */
async function endings({ user }: Actor): Promise<number> {
  const rows = await given.world.run<{ generation: number }>(
    'select generation from authorizations where user_id = $1 and client_id = $2',
    [user.userId, given.clientId]
  )
  return rows[0]?.generation ?? 0
}

describe('removeOwner', () => {
  test('keeps the last enabled owner, also if the other one is disabled at the same moment', async () => {
    await makeOwner(given.bob)
    const operator = new pg.Client({ connectionString: given.world.url })
    await operator.connect()
    try {
      await operator.query('begin')
      await operator.query('update users set disabled_at = now() where user_id = $1', [given.bob.user.userId])
      const removal = removeOwner(given.alice)
      await untilBlocked((text) => given.world.run(text))
      await operator.query('commit')
      expect(await removal).toBe(false)
    } finally {
      await operator.end()
    }
  })

  test('ends the access that they gave to a draft', async () => {
    await makeOwner(given.bob)
    expect(await removeOwner(given.bob)).toBe(true)
    expect([await endings(given.bob), await endings(given.alice)]).toEqual([1, 0])
  })

  test('keeps the access that they gave to a published app', async () => {
    await makeOwner(given.bob)
    await publish()
    expect(await removeOwner(given.bob)).toBe(true)
    expect(await endings(given.bob)).toBe(0)
  })

  test('leaves no app whose only other owner is disabled', async () => {
    await makeOwner(given.bob)
    await given.world.run('update users set disabled_at = now() where user_id = $1', [given.bob.user.userId])
    expect(await removeOwner(given.alice)).toBe(false)
    expect((await app()).owners).toHaveLength(2)
  })

  test('withdraws their invitations, and no others', async () => {
    await makeOwner(given.bob)
    await inviteOwner({ clientId: given.clientId, username: 'invited-by-bob', transfers: false }, given.bob, given.deps)
    await inviteOwner(
      { clientId: given.clientId, username: 'invited-by-alice', transfers: false },
      given.alice,
      given.deps
    )
    expect(await removeOwner(given.bob)).toBe(true)
    expect((await app()).invitations).toMatchObject([{ username: 'invited-by-alice' }])
  })

  test('gives the app a new version', async () => {
    await makeOwner(given.bob)
    const before = await app()
    await removeOwner(given.bob)
    expect((await app()).version).not.toBe(before.version)
  })
})

describe('removeTester', () => {
  const removeTester = async ({ user }: Actor) =>
    given.deps.people.removeTester(given.alice.user, await app(), user.username, NOTE)

  test.each([
    { state: 'draft', isPublished: false, ended: 1 },
    { state: 'published app', isPublished: true, ended: 0 }
  ])('of a $state: their access is ended $ended times', async ({ isPublished, ended }) => {
    await addTester({ clientId: given.clientId, username: given.bob.user.username }, given.alice, given.deps)
    if (isPublished) await publish()
    expect(await removeTester(given.bob)).toBe(true)
    expect(await endings(given.bob)).toBe(ended)
  })
})
