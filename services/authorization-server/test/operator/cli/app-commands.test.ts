import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { changeApp } from '../../../src/browser/account/developer/change-app.js'
import type { Actor, OwnAppDeps } from '../../../src/browser/account/developer/own-apps.js'
import { requestApproval } from '../../../src/browser/account/developer/request-approval.js'
import { runCommand } from '../../support/command-line.js'
import { appInput, newActor, ownAppDeps, registerApp, releaseScope } from '../../support/developer-apps.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor
let clientId: string
const input = appInput({ branding: { publisher: 'Boats Ltd' } })

beforeAll(async () => {
  world = await createMigratedDatabase()
  deps = ownAppDeps(world)
  await releaseScope(world, 'notes.read')
  alice = await newActor(world, 'alice')
  clientId = (await registerApp(alice, deps, input)).clientId
})
afterAll(() => world.close())

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
