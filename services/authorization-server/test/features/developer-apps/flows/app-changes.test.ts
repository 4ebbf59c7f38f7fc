import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { nameKeys } from '@valetkey/sign-in-rules'
import { createAppDecisionStore } from '../../../../src/features/developer-apps/app-decision-store.js'
import type { AppInput } from '../../../../src/features/developer-apps/app-input.js'
import { changeApp, withdrawChange } from '../../../../src/features/developer-apps/change-app.js'
import { createApp } from '../../../../src/features/developer-apps/create-app.js'
import { disableApp } from '../../../../src/features/developer-apps/end-app.js'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { requestApproval, withdrawRequest } from '../../../../src/features/developer-apps/request-approval.js'
import { createClientChangeStore } from '../../../../src/storage/postgres/client-changes.js'
import { createClientLogoStore } from '../../../../src/storage/postgres/client-logos.js'
import { NOTE } from '../../../support/audit-note.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'
import {
  appInput,
  appOf,
  newActor,
  openOwnApps,
  ownAppDeps,
  registerApp,
  releaseScope
} from '../support/developer-apps.js'

describe('creation', () => {
  let world: MigratedDatabase
  let deps: OwnAppDeps
  let alice: Actor

  beforeAll(async () => {
    ;({ world, deps } = await openOwnApps())
    alice = await newActor(world)
  })
  afterAll(() => world.close())

  const create = (change: Parameters<typeof appInput>[0] = {}, actor = alice) =>
    createApp({ ...appInput(change), type: 'confidential' }, actor, deps)
  const problemsOf = async (change: Parameters<typeof appInput>[0]) => {
    const outcome = await create(change)
    return outcome.kind === 'invalid' ? outcome.problems : outcome.kind
  }

  describe('a new app', () => {
    test('is a draft of its owner, with a secret and PKCE', async () => {
      const { clientId, clientSecret } = await registerApp(alice, deps, { branding: { publisher: 'Boats Ltd' } })
      expect(clientSecret).toMatch(/^vk_cs_/)
      const app = await appOf(alice, clientId, deps)
      expect(app).toMatchObject({
        state: 'draft',
        isPublished: false,
        revision: 1,
        requestedAt: undefined,
        verified: false
      })
      expect(app.settings.branding).toEqual({ publisher: 'Boats Ltd' })
      expect(app.owners).toEqual([{ userId: alice.user.userId, username: alice.user.username, disabled: false }])
      expect(await deps.secrets.list(clientId)).toHaveLength(1)
      const rows = await world.run(
        'select requires_pkce, consent, published, origin from clients where client_id = $1',
        [clientId]
      )
      expect(rows).toEqual([{ requires_pkce: true, consent: 'ask', published: false, origin: 'developer' }])
    })

    test('is published immediately with DEVELOPER_APPS=open', async () => {
      const open = ownAppDeps(world, 'open')
      const { clientId } = await registerApp(await newActor(world), open)
      expect(await appOf(alice, clientId, deps).catch(() => 'foreign')).toBe('foreign')
      expect((await deps.apps.find(clientId))?.state).toBe('approved')
    })

    test('has an audit entry that names the user and no secret', async () => {
      const { clientId, clientSecret } = await registerApp(alice, deps)
      const rows = await world.run<{ event: string; user_id: string; details: object }>(
        'select event, user_id, details from audit_events where client_id = $1',
        [clientId]
      )
      expect(rows).toMatchObject([{ event: 'app_registered', user_id: alice.user.userId }])
      expect(JSON.stringify(rows)).not.toContain(clientSecret)
    })

    test('without a valid session is not stored', async () => {
      const ended = await newActor(world)
      await world.run('update users set session_generation = 1 where user_id = $1', [ended.user.userId])
      expect(await create({}, ended)).toEqual({ kind: 'session_ended' })
      expect(await deps.apps.list(ended.user.userId)).toEqual([])
    })
  })

  describe('fields', () => {
    test.each([
      {
        name: 'a name without a visible character',
        change: { name: '\u200b' },
        problems: [{ field: 'name', problem: 'malformed' }]
      },
      {
        name: 'a name of letters that are not visible',
        change: { name: '\u3164\u2800\u0301' },
        problems: [{ field: 'name', problem: 'malformed' }]
      },
      {
        name: 'a name whose marks cover the text around it',
        change: { name: `Boat${'\u0321\u200b'.repeat(5)}` },
        problems: [{ field: 'name', problem: 'malformed' }]
      },
      {
        name: 'a name with a direction control',
        change: { name: 'a\u202eb' },
        problems: [{ field: 'name', problem: 'text_direction' }]
      },
      {
        name: 'the name of the product',
        change: { name: 'Valetkey' },
        problems: [{ field: 'name', problem: 'reserved' }]
      },
      {
        name: 'a name of two scripts (UTS #39 §5.2)',
        change: { name: 'Рареr Kite' },
        problems: [{ field: 'name', problem: 'mixed_scripts' }]
      },
      {
        name: 'a name with digits of two number systems (UTS #39 §5.3)',
        change: { name: 'Kite 1𝟐' },
        problems: [{ field: 'name', problem: 'mixed_numbers' }]
      },
      {
        name: 'a name with a check mark',
        change: { name: 'Kite ✓' },
        problems: [{ field: 'name', problem: 'badge' }]
      },
      {
        name: 'a name of words and signs that claim a check',
        change: { name: '✓ Checked' },
        problems: [{ field: 'name', problem: 'reserved' }]
      },
      {
        name: 'no redirect URI',
        change: { redirectUris: [' '] },
        problems: [{ field: 'redirectUris', problem: 'missing' }]
      },
      {
        name: '21 redirect URIs',
        change: { redirectUris: Array.from({ length: 21 }, (_, index) => `https://app.example/${index}`) },
        problems: [{ field: 'redirectUris', problem: 'too_many' }]
      },
      {
        name: 'a redirect URI with a wildcard',
        change: { redirectUris: ['https://*.example/'] },
        problems: [{ field: 'redirectUris', problem: 'wildcard', uri: 'https://*.example/', detail: '' }]
      },
      { name: 'no scope', change: { requiredScopes: [] }, problems: [{ field: 'scopes', problem: 'missing' }] },
      {
        name: 'a scope that is not released',
        change: { requiredScopes: ['files.read'] },
        problems: [{ field: 'scopes', problem: 'not_offered' }]
      }
    ])('refuses $name', async ({ change, problems }) => {
      expect(await problemsOf(change)).toEqual(problems)
    })

    test('the name of another client is refused, however it is written', async () => {
      const client = {
        clientId: 'known',
        name: 'Paypal Invoices',
        type: 'confidential',
        redirectUris: ['https://pay.example/'],
        requiredScopes: ['files.read'],
        optionalScopes: [],
        requiresPkce: false,
        issuesRefreshTokens: true,
        consent: 'ask',
        disabled: false,
        verified: true,
        branding: {}
      } as const
      await createClientChangeStore(world.database).create(client, undefined, NOTE)
      const taken = [{ field: 'name', problem: 'taken' }]
      expect(await problemsOf({ name: 'Раураl Invоісеs' })).toEqual(taken)
      expect(await problemsOf({ name: 'PayPaI-lnvoices' })).toEqual(taken)
      expect(await problemsOf({ name: 'Ｐａｙｐａｌ　Ｉｎｖｏｉｃｅｓ' })).toEqual(taken)
      expect(await problemsOf({ name: 'PayPal Invoices Official' })).toEqual(taken)
      expect(await problemsOf({ name: 'Paypal Invoices ✓ Checked' })).toEqual(taken)
      expect(await problemsOf({ name: 'ꓑꓮꓬꓑꓮꓡ ꓲꓠꓦꓳꓲꓚꓰꓢ' })).toEqual(taken)
    })

    test('a name that a document of a client has can be taken: any user could publish one', async () => {
      await world.run(
        `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
        issues_refresh_tokens, consent, origin, created_at)
      values ('https://squatter.example/', 'Silver Kite', 'public', '{}', '{}', '{}', true, true, 'ask', 'discovered', now())`
      )
      expect(await problemsOf({ name: 'Silver Kite' })).toBe('created')
    })

    test('one of two apps that take the same name at the same moment is refused', async () => {
      const bob = await newActor(world)
      const outcomes = await Promise.all([create({ name: 'Tin Drum' }), create({ name: 'T1n Drum' }, bob)])
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['created', 'invalid'])
    })
  })

  describe('limits', () => {
    test('the 11th registration of a day is refused, also after a deletion and in parallel', async () => {
      const actor = await newActor(world)
      const outcomes = await Promise.all(
        Array.from({ length: 14 }, () => createApp({ ...appInput(), type: 'public' }, actor, deps))
      )
      // More than three concurrent requests can take the same place; they are tried again.
      const created = outcomes.filter(({ kind }) => kind === 'created').length
      for (let more = created; more < 10; more += 1) await registerApp(actor, deps)
      const [app] = await deps.apps.list(actor.user.userId)
      await deps.changes.remove(actor.user, app?.clientId ?? '', NOTE)
      expect(await deps.apps.list(actor.user.userId)).toHaveLength(9)
      expect(await create({}, actor)).toEqual({ kind: 'too_many_today' })
    })

    test('the 21st app is refused', async () => {
      const actor = await newActor(world)
      for (let day = 0; day < 2; day += 1) {
        for (let count = 0; count < 10; count += 1) await registerApp(actor, deps)
        await world.run('update app_registrations set day = day - 1 where user_id = $1', [actor.user.userId])
      }
      expect(await create({}, actor)).toEqual({ kind: 'too_many_apps' })
    })
  })
})

describe('changes', () => {
  let world: MigratedDatabase
  let deps: OwnAppDeps
  let alice: Actor
  let clientId: string
  let input: AppInput

  beforeAll(async () => {
    ;({ world, deps } = await openOwnApps())
    await releaseScope(world, 'notes.write')
  })
  beforeEach(async () => {
    alice = await newActor(world)
    input = appInput()
    clientId = (await registerApp(alice, deps, input)).clientId
  })
  afterAll(() => world.close())

  const change = (part: Partial<AppInput>, of = deps) =>
    changeApp({ clientId, input: { ...input, ...part } }, alice, of)
  const app = () => appOf(alice, clientId, deps)

  async function approve(verified = false): Promise<void> {
    await requestApproval(clientId, alice, deps)
    const seen = await app()
    const { settings, pending = settings } = seen
    const decided = { settings: pending, nameKeys: nameKeys(pending.name), verified }
    expect(await createAppDecisionStore(world.database).approve(seen, decided, NOTE)).toBe(true)
  }

  describe('a change of a draft', () => {
    test('takes effect immediately and raises the revision', async () => {
      const redirectUris = ['https://other.example/callback']
      expect(await change({ redirectUris, branding: { homePage: 'https://boat.example/' } })).toEqual({
        kind: 'changed'
      })
      expect(await app()).toMatchObject({
        revision: 2,
        settings: { redirectUris, branding: { homePage: 'https://boat.example/' } }
      })
    })

    test('with equal fields changes nothing', async () => {
      expect(await change({})).toEqual({ kind: 'unchanged' })
      expect((await app()).revision).toBe(1)
    })

    test('to a free name frees the old one', async () => {
      expect(await change({ name: 'Free Boat' })).toEqual({ kind: 'changed' })
      expect(await registerApp(await newActor(world), deps, { name: input.name })).toMatchObject({})
    })

    test('that waits for approval keeps waiting, with another revision', async () => {
      await requestApproval(clientId, alice, deps)
      await change({ redirectUris: ['https://evil.example/'] })
      expect(await app()).toMatchObject({ state: 'requested', revision: 2 })
    })

    test('by another user has the same outcome as of an unknown app', async () => {
      const mallory = await newActor(world)
      const outcomes = [clientId, 'AAAAAAAAAAAAAAAAAAAAAA', '\0', ''].map((id) =>
        changeApp({ clientId: id, input }, mallory, deps)
      )
      expect(new Set((await Promise.all(outcomes)).map((each) => JSON.stringify(each)))).toEqual(
        new Set(['{"kind":"unknown_app"}'])
      )
    })

    test('by two owners at the same moment loses no change of the settings', async () => {
      const outcomes = await Promise.all([change({ name: 'One Boat' }), change({ name: 'Two Boat' })])
      expect(outcomes).toEqual([{ kind: 'changed' }, { kind: 'changed' }])
      expect((await app()).revision).toBe(3)
    })
  })

  describe('a change of an approved app', () => {
    beforeEach(() => approve(true))

    test.each<{ name: string; part: Partial<AppInput> }>([
      { name: 'name', part: { name: 'Grey Boat' } },
      { name: 'redirect URIs', part: { redirectUris: ['https://evil.example/'] } },
      { name: 'home page', part: { branding: { homePage: 'https://evil.example/' } } },
      { name: 'scopes', part: { requiredScopes: ['notes.read', 'notes.write'] } }
    ])('of its $name waits for approval', async ({ part }) => {
      const before = (await app()).settings
      expect(await change(part)).toEqual({ kind: 'pending' })
      const after = await app()
      expect(after).toMatchObject({
        state: 'approved',
        settings: before,
        verified: true,
        pending: { ...before, ...part }
      })
      expect(after.requestedAt).toBeInstanceOf(Date)
      await withdrawChange(clientId, alice, deps)
      expect(await app()).toMatchObject({ pending: undefined, requestedAt: undefined, settings: before })
    })

    test('drops "verified" when it takes effect', async () => {
      await change({ name: 'Green Boat' })
      await approve()
      expect(await app()).toMatchObject({ verified: false, settings: { name: 'Green Boat' }, pending: undefined })
    })

    test('of the redirect URIs alone keeps "verified"', async () => {
      await change({ redirectUris: ['https://other.example/'] })
      await approve()
      expect(await app()).toMatchObject({ verified: true, settings: { redirectUris: ['https://other.example/'] } })
    })

    test('back to the live settings drops the pending change', async () => {
      await change({ name: 'Silver Boat' })
      expect(await change({})).toEqual({ kind: 'changed' })
      expect(await app()).toMatchObject({ pending: undefined, requestedAt: undefined })
    })

    test('keeps its live and its pending name for itself, and gives the pending one back', async () => {
      await change({ name: 'Amber Boat' })
      const bob = await newActor(world)
      await expect(registerApp(bob, deps, { name: 'Аmbеr Boat' })).rejects.toThrow('taken')
      await expect(registerApp(bob, deps, { name: input.name })).rejects.toThrow('taken')
      await withdrawChange(clientId, alice, deps)
      await registerApp(bob, deps, { name: 'Amber Boat' })
    })

    test.each<{ name: string; part: Partial<AppInput> }>([
      { name: 'name', part: { name: 'Open Boat' } },
      { name: 'redirect URIs', part: { redirectUris: ['https://evil.example/'] } },
      { name: 'home page', part: { branding: { homePage: 'https://evil.example/' } } }
    ])('with DEVELOPER_APPS=open takes effect immediately, without "verified": $name', async ({ part }) => {
      expect(await change(part, ownAppDeps(world, 'open'))).toEqual({ kind: 'changed' })
      expect(await app()).toMatchObject({ verified: false, settings: part })
    })

    test('with DEVELOPER_APPS=open is not verified with another logo', async () => {
      const logo = 'a'.repeat(64)
      await createClientLogoStore(world.database).save({ hash: logo, image: Buffer.from('image') })
      await change({ branding: { logo } }, ownAppDeps(world, 'open'))
      expect(await app()).toMatchObject({ verified: false, settings: { branding: { logo } } })
    })

    test('with DEVELOPER_APPS=open keeps "verified" with other scopes', async () => {
      await change({ requiredScopes: ['notes.read', 'notes.write'] }, ownAppDeps(world, 'open'))
      expect(await app()).toMatchObject({ verified: true })
    })
  })

  describe('a request for approval', () => {
    test('makes a draft a requested app, and back', async () => {
      expect(await requestApproval(clientId, alice, deps)).toEqual({ kind: 'requested' })
      expect(await requestApproval(clientId, alice, deps)).toEqual({ kind: 'requested' })
      expect((await app()).state).toBe('requested')
      await withdrawRequest(clientId, alice, deps)
      expect(await app()).toMatchObject({ state: 'draft', requestedAt: undefined })
    })

    test('of an approved app without a change has nothing to approve', async () => {
      await approve()
      expect(await requestApproval(clientId, alice, deps)).toEqual({ kind: 'nothing_to_approve' })
    })

    test('publishes immediately with DEVELOPER_APPS=open', async () => {
      expect(await requestApproval(clientId, alice, ownAppDeps(world, 'open'))).toEqual({ kind: 'published' })
      expect((await app()).state).toBe('approved')
    })

    test('of a disabled app has nothing to approve', async () => {
      await disableApp(clientId, alice, deps)
      expect(await requestApproval(clientId, alice, deps)).toEqual({ kind: 'nothing_to_approve' })
    })

    const letWait = async (apps: number) => {
      for (let count = 0; count < apps; count += 1) {
        await requestApproval((await registerApp(alice, deps)).clientId, alice, deps)
      }
    }

    test('is refused while 5 apps of the owner wait', async () => {
      await letWait(5)
      expect(await requestApproval(clientId, alice, deps)).toEqual({ kind: 'too_many_waiting' })
    })

    test('by a change of an approved app is refused while 5 apps of the owner wait', async () => {
      await approve()
      await letWait(5)
      expect(await change({ redirectUris: ['https://app.example/other'] })).toEqual({ kind: 'too_many_waiting' })
    })

    test('that waits as one of 5 may change', async () => {
      await approve()
      expect(await change({ redirectUris: ['https://app.example/other'] })).toEqual({ kind: 'pending' })
      await letWait(4)
      expect(await change({ redirectUris: ['https://app.example/third'] })).toEqual({ kind: 'pending' })
    })
  })
})
