import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createApp } from '../../../../src/browser/account/developer/create-app.js'
import type { Actor, OwnAppDeps } from '../../../../src/browser/account/developer/own-apps.js'
import { nameKey } from '../../../../src/platform/developer-apps/name-key.js'
import { createClientChangeStore } from '../../../../src/storage/postgres/client-changes.js'
import { NOTE } from '../../../support/audit-note.js'
import { appInput, appOf, newActor, openOwnApps, ownAppDeps, registerApp } from '../../../support/developer-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'

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
    const rows = await world.run('select requires_pkce, consent, published, origin from clients where client_id = $1', [
      clientId
    ])
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

  test('refuses the name of another client, however it is written', async () => {
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
    await createClientChangeStore(world.database, nameKey).create(client, undefined, NOTE)
    const taken = [{ field: 'name', problem: 'taken' }]
    expect(await problemsOf({ name: 'Раураl Invоісеs' })).toEqual(taken)
    expect(await problemsOf({ name: 'PayPaI-lnvoices' })).toEqual(taken)
    expect(await problemsOf({ name: 'Ｐａｙｐａｌ　Ｉｎｖｏｉｃｅｓ' })).toEqual(taken)
  })

  test('takes a name that a document of a client has: any user could publish one', async () => {
    await world.run(
      `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
        issues_refresh_tokens, consent, origin, created_at)
      values ('https://squatter.example/', 'Silver Kite', 'public', '{}', '{}', '{}', true, true, 'ask', 'discovered', now())`
    )
    expect(await problemsOf({ name: 'Silver Kite' })).toBe('created')
  })

  test('refuses one of two apps that take the same name at the same moment', async () => {
    const bob = await newActor(world)
    const outcomes = await Promise.all([create({ name: 'Tin Drum' }), create({ name: 'Тіn Drum' }, bob)])
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['created', 'invalid'])
  })
})

describe('limits', () => {
  test('refuses the 11th registration of a day, also after a deletion and in parallel', async () => {
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

  test('refuses the 21st app', async () => {
    const actor = await newActor(world)
    for (let day = 0; day < 2; day += 1) {
      for (let count = 0; count < 10; count += 1) await registerApp(actor, deps)
      await world.run('update app_registrations set day = day - 1 where user_id = $1', [actor.user.userId])
    }
    expect(await create({}, actor)).toEqual({ kind: 'too_many_apps' })
  })
})
