import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Actor, OwnAppDeps } from '../../../src/browser/account/developer/own-apps.js'
import { requestApproval } from '../../../src/browser/account/developer/request-approval.js'
import { type AppDecisionStore, createAppDecisionStore } from '../../../src/storage/postgres/app-decisions.js'
import type { DeveloperApp } from '../../../src/storage/postgres/developer-apps.js'
import { NOTE } from '../../support/audit-note.js'
import { appOf, newActor, openOwnApps, registerApp } from '../../support/developer-apps.js'
import type { MigratedDatabase } from '../../support/migrated-database.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor
let decisions: AppDecisionStore
let clientId: string

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
  decisions = createAppDecisionStore(world.database)
  alice = await newActor(world)
})
beforeEach(async () => {
  clientId = (await registerApp(alice, deps)).clientId
})
afterAll(() => world.close())

const app = () => appOf(alice, clientId, deps)

const DECISIONS: readonly { name: string; make(seen: DeveloperApp): Promise<boolean>; state: string }[] = [
  {
    name: 'approve',
    make: ({ revision, version, settings }) =>
      decisions.approve({ clientId, revision, version }, { settings, nameKey: clientId, verified: false }, NOTE),
    state: 'approved'
  },
  {
    name: 'refuse',
    make: ({ revision }) => decisions.refuse({ clientId, revision }, 'The logo is not yours.', NOTE),
    state: 'draft'
  }
]

describe.each(DECISIONS)('$name', ({ make, state }) => {
  test('decides once about the revision that waits', async () => {
    await requestApproval(clientId, alice, deps)
    const seen = await app()
    const made = await Promise.all([make(seen), make(seen)])
    expect(made.toSorted()).toEqual([false, true])
    expect(await app()).toMatchObject({ state, requestedAt: undefined })
  })

  test('of another revision changes nothing', async () => {
    await requestApproval(clientId, alice, deps)
    const waiting = await app()
    expect(await make({ ...waiting, revision: waiting.revision + 1 })).toBe(false)
    expect(await app()).toEqual(waiting)
  })

  test('of an app that does not wait changes nothing', async () => {
    const draft = await app()
    expect(await make(draft)).toBe(false)
    expect(await app()).toEqual(draft)
  })
})

test('approve: of an app whose client an operator has changed since changes nothing', async () => {
  await requestApproval(clientId, alice, deps)
  const seen = await app()
  await world.run('update clients set redirect_uris = $2 where client_id = $1', [clientId, ['https://b.example/']])
  const changed = await app()
  const decision = { settings: seen.settings, nameKey: clientId, verified: false }
  expect(await decisions.approve(seen, decision, NOTE)).toBe(false)
  expect(await app()).toEqual(changed)
})
