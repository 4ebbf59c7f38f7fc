import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { deleteApp, disableApp } from '../../../../src/browser/account/developer/end-app.js'
import { type Actor, findOwnApp, type OwnAppDeps } from '../../../../src/browser/account/developer/own-apps.js'
import { createConsentStore } from '../../../../src/storage/postgres/consents.js'
import { newActor, openOwnApps, registerApp } from '../../../support/developer-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'
import { rememberConsent } from '../../../support/remember-consent.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
  alice = await newActor(world)
})
afterAll(() => world.close())

test('an owner disables an app once, and its tokens end', async () => {
  const { clientId } = await registerApp(alice, deps)
  expect(await disableApp(clientId, alice, deps)).toEqual({ kind: 'done' })
  expect(await disableApp(clientId, alice, deps)).toEqual({ kind: 'done' })
  expect((await findOwnApp(alice.user, clientId, deps))?.app.state).toBe('disabled')
  expect(await world.run('select generation from clients where client_id = $1', [clientId])).toEqual([
    { generation: 1 }
  ])
})

test('an owner deletes an app with all that belongs to it', async () => {
  const { clientId } = await registerApp(alice, deps, { name: 'Sunken Boat' })
  expect(await deleteApp(clientId, alice, deps)).toEqual({ kind: 'done' })
  expect(await findOwnApp(alice.user, clientId, deps)).toBeUndefined()
  expect(await deleteApp(clientId, alice, deps)).toEqual({ kind: 'unknown_app' })
  await registerApp(alice, deps, { name: 'Sunken Boat' })
})

test('others can do neither', async () => {
  const { clientId } = await registerApp(alice, deps)
  const mallory = await newActor(world)
  const consents = createConsentStore(world.database)
  const key = { userId: alice.user.userId, clientId, audience: 'https://notes.example' }
  await rememberConsent(world.database, key, ['notes.read'])
  expect(await disableApp(clientId, mallory, deps)).toEqual({ kind: 'unknown_app' })
  expect(await deleteApp(clientId, mallory, deps)).toEqual({ kind: 'unknown_app' })
  expect(await consents.findScope(key)).toEqual(['notes.read'])
  expect((await findOwnApp(alice.user, clientId, deps))?.app.state).toBe('draft')
})
