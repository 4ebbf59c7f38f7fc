import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
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
  { name: 'disable', make: ({ user }, of) => deps.changes.disable(user, of, NOTE) },
  { name: 'add a secret', make: ({ user }, of) => deps.secretChanges.add(user, of, hashToken('secret'), NOTE) },
  { name: 'delete a secret', make: ({ user }, of) => deps.secretChanges.remove(user, of, '000000000000', NOTE) }
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

  test('of an app whose client an operator has changed since changes nothing', async () => {
    await world.run('update clients set redirect_uris = $2 where client_id = $1', [
      app.clientId,
      ['https://b.example/']
    ])
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

describe.each(CHANGES.filter(({ name }) => name === 'request' || name === 'propose'))(
  '$name: while 5 apps wait',
  ({ make }) => {
    async function register(count: number): Promise<readonly DeveloperApp[]> {
      const apps: DeveloperApp[] = []
      while (apps.length < count) apps.push(await appOf(alice, (await registerApp(alice, deps)).clientId, deps))
      return apps
    }

    test('parallel requests of an owner get 5 places', async () => {
      const made = await Promise.all((await register(8)).map((each) => make(alice, each)))
      expect(made.filter((isMade) => isMade)).toHaveLength(5)
      expect(await deps.apps.countOf(alice.user.userId)).toMatchObject({ waiting: 5 })
    })

    test('one of them may change', async () => {
      const [first] = await Promise.all((await register(5)).map(async (each) => (await make(alice, each)) && each))
      if (!first) throw new Error('the first app does not wait')
      expect(await make(alice, await appOf(alice, first.clientId, deps))).toBe(true)
    })

    test('a disabled app takes no place', async () => {
      const [first, ...others] = await register(6)
      if (first === undefined) throw new Error('there is no app')
      for (const each of [first, ...others.slice(1)]) expect(await make(alice, each)).toBe(true)
      await world.run('update clients set disabled_at = now() where client_id = $1', [first.clientId])
      expect(await deps.apps.countOf(alice.user.userId)).toMatchObject({ waiting: 4 })
      expect(await Promise.all(others.slice(0, 1).map((each) => make(alice, each)))).toEqual([true])
    })
  }
)

test('remove: by a user who is no owner, and in an ended session, deletes nothing', async () => {
  const ended = { ...alice.user, sessionGeneration: 1 }
  for (const user of [(await newActor(world)).user, ended]) {
    expect(await deps.changes.remove(user, app.clientId, NOTE)).toBe(false)
  }
  expect(await now()).toEqual(app)
})
