import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { canonicalName } from '@valetkey/sign-in-rules'
import pg from 'pg'
import { countApps } from '../../../../src/features/developer-apps/app-count-store.js'
import {
  type AppDecisionStore,
  createAppDecisionStore
} from '../../../../src/features/developer-apps/app-decision-store.js'
import { decideInvitation, inviteOwner } from '../../../../src/features/developer-apps/app-owners.js'
import { addTester } from '../../../../src/features/developer-apps/app-testers.js'
import type { DeveloperApp } from '../../../../src/features/developer-apps/developer-app-store.js'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { requestApproval } from '../../../../src/features/developer-apps/request-approval.js'
import { createScopeStore } from '../../../../src/storage/postgres/scopes.js'
import { createSessionStore } from '../../../../src/storage/postgres/sessions.js'
import { NOTE } from '../../../support/audit-note.js'
import { connectWithoutLimits } from '../../../support/connect-without-limits.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'
import { NEW_SCOPE } from '../../../support/new-scope.js'
import { untilBlocked } from '../../../support/until-blocked.js'
import { actorOf, appOf, newActor, openOwnApps, ownAppDeps, registerApp } from '../support/developer-apps.js'
import { ownedApp } from '../support/owned-app.js'

describe('changes', () => {
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

    test.each(['generation', 'session_generation'])(
      'in a session that the %s has ended changes nothing',
      async (column) => {
        const ended = await actorOf(world, alice.user)
        await world.run(`update users set ${column} = ${column} + 1 where user_id = $1`, [alice.user.userId])
        alice = await actorOf(world, alice.user)
        expect(await make(ended, app)).toBe(false)
        expect(await now()).toEqual(app)
      }
    )

    test('in a session that was signed out alone changes nothing', async () => {
      const ended = await actorOf(world, alice.user)
      await createSessionStore(world.database, () => false).close(ended.user.sessionHash)
      expect(await make(ended, app)).toBe(false)
      expect(await now()).toEqual(app)
    })

    test('in a session of another user changes nothing', async () => {
      const { sessionHash } = (await newActor(world)).user
      expect(await make({ ...alice, user: { ...alice.user, sessionHash } }, app)).toBe(false)
      expect(await now()).toEqual(app)
    })
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
    const { user: ended } = await actorOf(world, alice.user)
    await createSessionStore(world.database, () => false).close(ended.sessionHash)
    for (const user of [(await newActor(world)).user, ended]) {
      expect(await deps.changes.remove(user, app.clientId, NOTE)).toBe(false)
    }
    expect(await now()).toEqual(app)
  })
})

describe('decisions', () => {
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
        decisions.approve({ clientId, revision, version }, { settings, nameKeys: [clientId], verified: false }, NOTE),
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
    const decision = { settings: seen.settings, nameKeys: [clientId], verified: false }
    expect(await decisions.approve(seen, decision, NOTE)).toBe(false)
    expect(await app()).toEqual(changed)
  })
})

describe('people', () => {
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
      await inviteOwner(
        { clientId: given.clientId, username: 'invited-by-bob', transfers: false },
        given.bob,
        given.deps
      )
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
      given.deps.people.removeTester(given.alice.user, await app(), canonicalName(user.username), NOTE)

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
})

describe('the counts of an app', () => {
  const USERS = 30_000

  let opened: MigratedDatabase
  /** One connection, so that its own statistics can be flushed. */
  let database: Database

  beforeAll(async () => {
    opened = await createMigratedDatabase()
    database = connectWithoutLimits(opened.url, { connections: 1 })
    await opened.run(`insert into users (user_id, username, canonical_name, created_at)
    select gen_random_uuid(), 'user ' || n, 'user ' || n, now() from generate_series(1, ${USERS}) n`)
    await opened.run(`insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at)
    select id, id, 'public', '{}', '{files.read}', '{}', true, true, 'ask', now() from unnest('{many,few}'::text[]) id`)
    await insertGrants('many', USERS)
  })
  afterAll(async () => {
    await database.close()
    await opened.close()
  })

  /** Two grants of each of the first users. */
  async function insertGrants(clientId: string, users: number): Promise<void> {
    await opened.run(
      `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
      client_generation, newest_scope, created_at, redeemed_at, expires_at)
    select gen_random_uuid(), $1, user_id, '{files.read}', 'a', 'r', sha256(($1 || user_id || number)::bytea), 0, 0, 1000, now(), now(),
      now() + interval '1 hour'
    from (select user_id from users order by username limit $2) as first cross join generate_series(1, 2) as number`,
      [clientId, users]
    )
    await opened.run('analyze')
  }

  async function grantsRead(): Promise<number> {
    await database.query({ name: '', text: 'select pg_stat_force_next_flush()', values: [] })
    const [row] = await opened.run<{ read: number }>(
      "select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_user_tables where relname = 'grants'"
    )
    return row?.read ?? 0
  }

  test('countUsers: counts each user once', async () => {
    await insertGrants('few', 3)
    expect(await countApps(database).countUsers('few')).toBe(3)
  })

  test('countUsersOfEach: counts each user once, and reads a bounded number of rows by the index of clients', async () => {
    const before = await grantsRead()
    const counts = await countApps(database).countUsersOfEach(['many', 'few', 'none'])
    expect(counts.get('few')).toEqual({ count: 3, isAtLeast: false })
    expect(counts.get('none')).toEqual({ count: 0, isAtLeast: false })
    expect(counts.get('many')).toMatchObject({ isAtLeast: true })
    expect(counts.get('many')?.count).toBeGreaterThanOrEqual(250)
    expect((await grantsRead()) - before).toBeLessThanOrEqual(600)
  })

  test('countUsers: of an app with more users, reads a bounded number of rows', async () => {
    const before = await grantsRead()
    expect(await countApps(database).countUsers('many')).toBeGreaterThanOrEqual(5_000)
    expect((await grantsRead()) - before).toBeLessThanOrEqual(11_000)
  })
})
