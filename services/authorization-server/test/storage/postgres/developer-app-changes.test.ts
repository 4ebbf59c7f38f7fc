import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Actor, OwnAppDeps } from '../../../src/browser/account/developer/own-apps.js'
import type { DeveloperApp } from '../../../src/storage/postgres/developer-apps.js'
import { createScopeStore } from '../../../src/storage/postgres/scopes.js'
import { NOTE } from '../../support/audit-note.js'
import { appOf, newActor, openOwnApps, registerApp } from '../../support/developer-apps.js'
import type { MigratedDatabase } from '../../support/migrated-database.js'
import { NEW_SCOPE } from '../../support/new-scope.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor
let app: DeveloperApp

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
  await createScopeStore(world.database).create({ ...NEW_SCOPE, name: 'notes.secret', title: 'Secret' }, NOTE)
})
beforeEach(async () => {
  alice = await newActor(world)
  const { clientId } = await registerApp(alice, deps)
  app = await appOf(alice, clientId, deps)
})
afterAll(() => world.close())

type Make = (actor: Actor, of: DeveloperApp, scope?: string) => Promise<boolean>

function settingsOf({ clientId, settings }: DeveloperApp, scope: string) {
  const addedScopes = scope === 'notes.read' ? [] : [scope]
  return { settings: { ...settings, requiredScopes: [scope] }, nameKeys: [clientId], addedScopes }
}

const WITH_SETTINGS: readonly { name: string; make: Make }[] = [
  {
    name: 'change',
    make: ({ user }, of, scope = 'notes.read') => deps.changes.change(user, of, settingsOf(of, scope), NOTE)
  },
  {
    name: 'propose',
    make: ({ user }, of, scope = 'notes.read') => deps.changes.propose(user, of, settingsOf(of, scope), NOTE)
  }
]

const CHANGES: readonly { name: string; make: Make }[] = [
  ...WITH_SETTINGS,
  { name: 'request', make: ({ user }, of) => deps.changes.request(user, of, NOTE) },
  { name: 'publish', make: ({ user }, of) => deps.changes.publish(user, of, NOTE) },
  { name: 'disable', make: ({ user }, of) => deps.changes.disable(user, of, NOTE) }
]

const now = () => appOf(alice, app.clientId, deps)

describe.each(CHANGES)('$name', ({ make }) => {
  test('changes the app', async () => {
    expect(await make(alice, app)).toBe(true)
    expect((await now()).version).not.toBe(app.version)
  })

  test('of an app that has been changed since changes nothing', async () => {
    await deps.changes.request(alice.user, app, NOTE)
    const changed = await now()
    expect(await make(alice, app)).toBe(false)
    expect(await now()).toEqual(changed)
  })

  test('by a user who is no owner changes nothing', async () => {
    expect(await make(await newActor(world), app)).toBe(false)
    expect(await now()).toEqual(app)
  })

  test.each(['userGeneration', 'sessionGeneration'] as const)(
    'in a session with another %s changes nothing',
    async (member) => {
      expect(await make({ ...alice, user: { ...alice.user, [member]: 1 } }, app)).toBe(false)
      expect(await now()).toEqual(app)
    }
  )
})

test.each(WITH_SETTINGS)('$name: a scope that operators have not released changes nothing', async ({ make }) => {
  expect(await make(alice, app, 'notes.secret')).toBe(false)
  expect(await now()).toEqual(app)
})

test('remove: by a user who is no owner, and in an ended session, deletes nothing', async () => {
  const ended = { ...alice.user, sessionGeneration: 1 }
  for (const user of [(await newActor(world)).user, ended]) {
    expect(await deps.changes.remove(user, app.clientId, NOTE)).toBe(false)
  }
  expect(await now()).toEqual(app)
})
