import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { answerInvitation, inviteOwner } from '../../../src/browser/account/developer/app-owners.js'
import { addTester } from '../../../src/browser/account/developer/app-testers.js'
import type { Actor, OwnAppDeps } from '../../../src/browser/account/developer/own-apps.js'
import { requestApproval } from '../../../src/browser/account/developer/request-approval.js'
import { NOTE } from '../../support/audit-note.js'
import { appOf, newActor, openOwnApps, ownAppDeps, registerApp } from '../../support/developer-apps.js'
import type { MigratedDatabase } from '../../support/migrated-database.js'
import { untilBlocked } from '../../support/until-blocked.js'

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

const app = () => appOf(alice, clientId, deps)
const publish = () => requestApproval(clientId, alice, ownAppDeps(world, 'open'))

async function makeOwner(actor: Actor): Promise<void> {
  await inviteOwner({ clientId, username: actor.user.username, transfers: false }, alice, deps)
  await answerInvitation({ clientId, accept: true }, actor, deps)
}

const removeOwner = async ({ user }: Actor, by = alice) =>
  deps.people.removeOwner(by.user, await app(), user.userId, NOTE)

/** How often the access that the user gave to the app was ended. */
async function endings({ user }: Actor): Promise<number> {
  const rows = await world.run<{ generation: number }>(
    'select generation from authorizations where user_id = $1 and client_id = $2',
    [user.userId, clientId]
  )
  return rows[0]?.generation ?? 0
}

describe('removeOwner', () => {
  test('keeps the last enabled owner, also if the other one is disabled at the same moment', async () => {
    await makeOwner(bob)
    const operator = new pg.Client({ connectionString: world.url })
    await operator.connect()
    try {
      await operator.query('begin')
      await operator.query('update users set disabled_at = now() where user_id = $1', [bob.user.userId])
      const removal = removeOwner(alice)
      await untilBlocked((text) => world.run(text))
      await operator.query('commit')
      expect(await removal).toBe(false)
    } finally {
      await operator.end()
    }
  })

  test('ends the access that they gave to a draft', async () => {
    await makeOwner(bob)
    expect(await removeOwner(bob)).toBe(true)
    expect([await endings(bob), await endings(alice)]).toEqual([1, 0])
  })

  test('keeps the access that they gave to a published app', async () => {
    await makeOwner(bob)
    await publish()
    expect(await removeOwner(bob)).toBe(true)
    expect(await endings(bob)).toBe(0)
  })

  test('leaves no app whose only other owner is disabled', async () => {
    await makeOwner(bob)
    await world.run('update users set disabled_at = now() where user_id = $1', [bob.user.userId])
    expect(await removeOwner(alice)).toBe(false)
    expect((await app()).owners).toHaveLength(2)
  })

  test('withdraws their invitations, and no others', async () => {
    await makeOwner(bob)
    await inviteOwner({ clientId, username: 'invited-by-bob', transfers: false }, bob, deps)
    await inviteOwner({ clientId, username: 'invited-by-alice', transfers: false }, alice, deps)
    expect(await removeOwner(bob)).toBe(true)
    expect((await app()).invitations).toMatchObject([{ username: 'invited-by-alice' }])
  })

  test('gives the client a new version, so that a secret that is being added is refused', async () => {
    await makeOwner(bob)
    const before = await deps.clients.findVersion(clientId)
    await removeOwner(bob)
    expect((await deps.clients.findVersion(clientId))?.version).not.toBe(before?.version)
  })
})

describe('removeTester', () => {
  const removeTester = async ({ user }: Actor) => deps.people.removeTester(alice.user, await app(), user.username, NOTE)

  test.each([
    { state: 'draft', isPublished: false, ended: 1 },
    { state: 'published app', isPublished: true, ended: 0 }
  ])('of a $state: their access is ended $ended times', async ({ isPublished, ended }) => {
    await addTester({ clientId, username: bob.user.username }, alice, deps)
    if (isPublished) await publish()
    expect(await removeTester(bob)).toBe(true)
    expect(await endings(bob)).toBe(ended)
  })
})
