import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { nameKeys } from '@valetkey/sign-in-rules'
import {
  type AppAdministration,
  approveApp,
  disableApp,
  findApp,
  listApps,
  refuseApp
} from '../../../../src/features/developer-apps/administer-apps.js'
import { createAppDecisionStore } from '../../../../src/features/developer-apps/app-decision-store.js'
import type { AppInput } from '../../../../src/features/developer-apps/app-input.js'
import { changeApp } from '../../../../src/features/developer-apps/change-app.js'
import { disableApp as disableOwnApp } from '../../../../src/features/developer-apps/end-app.js'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { requestApproval } from '../../../../src/features/developer-apps/request-approval.js'
import { updateClient } from '../../../../src/operator/use-cases/administer-client.js'
import { runCommand } from '../../../support/command-line.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'
import { appInput, appStores, newActor, ownAppDeps, registerApp, releaseScope } from '../support/developer-apps.js'

let world: MigratedDatabase
let deps: OwnAppDeps

beforeAll(async () => {
  world = await createMigratedDatabase()
  deps = ownAppDeps(world)
  await releaseScope(world, 'notes.read')
})
afterAll(() => world.close())

describe('commands', () => {
  let alice: Actor
  let clientId: string
  const input = appInput({ branding: { publisher: 'Boats Ltd' } })

  beforeAll(async () => {
    alice = await newActor(world, 'alice')
    clientId = (await registerApp(alice, deps, input)).clientId
  })

  const apps = (...args: string[]) => runCommand(world.database, ['apps', ...args])

  test('apps are listed, shown, refused, approved and disabled', async () => {
    expect((await apps('list', '--waiting')).out).toBe('There are no matching apps.\n')
    expect(JSON.parse((await apps('list', '--json')).out).apps).toEqual([
      { client_id: clientId, name: input.name, state: 'draft', revision: 1, pending_change: false }
    ])
    await requestApproval(clientId, alice, deps)
    expect((await apps('list', '--waiting')).out).toContain(clientId)

    const refused = await apps('refuse', clientId, '--reason', 'No.', '--json')
    expect(JSON.parse(refused.out)).toMatchObject({ state: 'draft', refusal: 'No.' })
    await requestApproval(clientId, alice, deps)
    expect(await apps('approve', clientId, '--revision', '1')).toMatchObject({ code: 0, said: '' })

    await changeApp({ clientId, input: { ...input, name: 'Grey Boat' } }, alice, deps)
    const { out } = await apps('show', clientId)
    expect(out).toContain('pending name: Grey Boat\n')
    expect(out).toContain('pending publisher: Boats Ltd\n')
    expect(out).toContain('owners: alice\n')
    expect(await apps('approve', clientId, '--revision', '1')).toMatchObject({ code: 4 })
    const approved = await apps('approve', clientId, '--revision', '2', '--verified', '--json')
    expect(JSON.parse(approved.out)).toMatchObject({ name: 'Grey Boat', verified: true })

    expect(await apps('disable', clientId)).toMatchObject({ code: 2 })
    expect(JSON.parse((await apps('disable', clientId, '--yes', '--json')).out).state).toBe('disabled')
  })

  test('an approval needs a revision, and an app that exists', async () => {
    expect(await apps('approve', clientId)).toMatchObject({ code: 2 })
    expect(await apps('approve', clientId, '--revision', 'x')).toMatchObject({ code: 2 })
    expect(await apps('approve', 'unknown', '--revision', '1')).toMatchObject({ code: 3 })
  })

  test('export and apply --prune leave apps of users alone', async () => {
    const { out } = await runCommand(world.database, ['export'])
    expect(out).not.toContain(clientId)
    const pruned = await runCommand(world.database, ['apply', '-f', '-', '--prune', '--yes'], { stdin: out })
    expect(pruned.code).toBe(0)
    expect((await deps.apps.find(clientId))?.clientId).toBe(clientId)
  })
})

describe('the use case', () => {
  const AUTHOR = { actor: { kind: 'command_line', name: 'olga' } } as const
  let administration: AppAdministration
  let alice: Actor
  let clientId: string
  let input: AppInput

  beforeAll(async () => {
    const { registered, consents, clientLogos } = appStores(world)
    const decisions = createAppDecisionStore(world.database)
    administration = { ...registered, consents, clientLogos, apps: deps.apps, decisions }
  })
  beforeEach(async () => {
    alice = await newActor(world)
    input = appInput()
    clientId = (await registerApp(alice, deps, input)).clientId
  })

  const request = () => requestApproval(clientId, alice, deps)
  const change = (part: Partial<AppInput>) => changeApp({ clientId, input: { ...input, ...part } }, alice, deps)
  const approve = (revision = 1, verified = false) =>
    approveApp({ clientId, revision, verified }, AUTHOR, administration)
  const refuse = (reason: string, revision?: number) =>
    refuseApp({ clientId, reason, revision }, AUTHOR, administration)
  const eventsOf = async () =>
    (
      await world.run<{ event: string }>('select event from audit_events where client_id = $1 order by event_id', [
        clientId
      ])
    ).map(({ event }) => event)

  describe('approval', () => {
    test('publishes the app', async () => {
      await request()
      expect(await approve(1, true)).toMatchObject({ state: 'approved', verified: true, requestedAt: undefined })
      expect(await eventsOf()).toEqual(['app_registered', 'app_approval_requested', 'app_approved'])
    })

    test('of an app that does not wait is refused', async () => {
      await expect(approve()).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('does not wait')
      })
    })

    test('of a revision that was changed since is refused', async () => {
      await request()
      await change({ redirectUris: ['https://evil.example/'] })
      await expect(approve()).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('revision 2')
      })
      expect(await approve(2)).toMatchObject({ state: 'approved' })
    })

    test('does not undo the change that another command makes at the same moment', async () => {
      await request()
      const redirectUris = ['https://b.example/']
      const { apps } = administration
      const find = async (id: string) => {
        const found = await apps.find(id)
        await updateClient({ clientId, settings: { redirectUris } }, AUTHOR, administration)
        return found
      }
      const command = { clientId, revision: 1, verified: false }
      await expect(approveApp(command, AUTHOR, { ...administration, apps: { ...apps, find } })).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('try again')
      })
      expect(await findApp(clientId, administration)).toMatchObject({ state: 'requested', settings: { redirectUris } })
      expect(await approve()).toMatchObject({ state: 'approved', settings: { redirectUris } })
    })

    test('is of the revision that was seen, also if the change comes at the same moment', async () => {
      await request()
      const [approved] = await Promise.allSettled([approve(), change({ redirectUris: ['https://evil.example/'] })])
      const { state, settings, pending } = await findApp(clientId, administration)
      if (approved.status === 'fulfilled') {
        // The change came second: it waits, or it was of a draft that is not approved.
        expect(state === 'approved' ? settings.redirectUris : []).toEqual(input.redirectUris)
        expect(pending?.redirectUris).toEqual(['https://evil.example/'])
      } else {
        expect(state).toBe('requested')
      }
    })

    test('ten times at the same moment is one approval', async () => {
      await request()
      const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => approve()))
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect((await eventsOf()).filter((event) => event === 'app_approved')).toHaveLength(1)
    })

    test('makes a pending change take effect', async () => {
      await request()
      await approve()
      await change({ name: 'Silver Boat', branding: { publisher: 'Boats Ltd' } })
      const { entries } = await listApps({ limit: 10 }, true, administration)
      expect(entries.find((app) => app.clientId === clientId)).toMatchObject({
        state: 'approved',
        hasPendingChange: true
      })
      expect(await approve(2)).toMatchObject({
        settings: { name: 'Silver Boat', branding: { publisher: 'Boats Ltd' } },
        pending: undefined,
        verified: false
      })
    })

    test('of a change that keeps the name is possible after another client got a name that looks like it', async () => {
      await request()
      await approve()
      const { clientId: other } = await registerApp(alice, deps)
      await world.run('update app_names set name_key = $2, is_shared = true where client_id = $1', [
        other,
        nameKeys(input.name)[0]
      ])
      const redirectUris = ['https://b.example/']
      await change({ redirectUris })
      expect(await approve(2)).toMatchObject({ settings: { name: input.name, redirectUris } })
    })

    test('is refused if another client got a name that looks like it', async () => {
      await request()
      const other = (await registerApp(await newActor(world), deps)).clientId
      await updateClient({ clientId: other, settings: { name: input.name.replace('a', 'а') } }, AUTHOR, administration)
      await expect(approve()).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('looks like')
      })
    })

    test('is refused if its scope was deleted', async () => {
      await releaseScope(world, 'gone.read')
      await change({ requiredScopes: ['notes.read', 'gone.read'] })
      await request()
      await world.run("delete from scopes where name = 'gone.read'")
      await expect(approve(2)).rejects.toMatchObject({ kind: 'invalid' })
    })

    test('of a disabled app is refused, and it does not wait', async () => {
      await request()
      await disableApp(clientId, AUTHOR, administration)
      expect((await listApps({ limit: 100 }, true, administration)).entries.map((app) => app.clientId)).not.toContain(
        clientId
      )
      await expect(approve()).rejects.toMatchObject({ kind: 'conflict' })
    })
  })

  describe('refusal', () => {
    test('makes it a draft, and its developer sees the reason until the next request', async () => {
      await request()
      expect(await refuse('The name is not yours.')).toMatchObject({
        state: 'draft',
        refusal: 'The name is not yours.'
      })
      expect((await deps.apps.list(alice.user.userId))[0]?.refusal).toBe('The name is not yours.')
      await request()
      expect(await findApp(clientId, administration)).toMatchObject({ state: 'requested', refusal: undefined })
    })

    test('of a change leaves the app as it is', async () => {
      await request()
      await approve()
      await change({ name: 'Copper Boat' })
      expect(await refuse('No.', 2)).toMatchObject({
        state: 'approved',
        settings: { name: input.name },
        refusal: 'No.'
      })
      expect(await change({ name: 'Bronze Boat' })).toEqual({ kind: 'pending' })
    })

    test.each(['', '  ', 'x'.repeat(501), 'a\nb'])('needs a reason: %j', async (reason) => {
      await request()
      await expect(refuse(reason)).rejects.toMatchObject({ kind: 'invalid' })
    })
  })

  test.each(['', '\0', 'unknown', 'https://app.example/client.json'])('an unknown app is not found: %j', async (id) => {
    await expect(findApp(id, administration)).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('an app that its owner disabled cannot be enabled by a request for approval', async () => {
    await disableOwnApp(clientId, alice, deps)
    expect(await request()).toEqual({ kind: 'nothing_to_approve' })
    expect((await findApp(clientId, administration)).state).toBe('disabled')
  })
})
