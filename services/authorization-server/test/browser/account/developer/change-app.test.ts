import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { AppInput } from '../../../../src/browser/account/developer/app-input.js'
import { changeApp, withdrawChange } from '../../../../src/browser/account/developer/change-app.js'
import { disableApp } from '../../../../src/browser/account/developer/end-app.js'
import type { Actor, OwnAppDeps } from '../../../../src/browser/account/developer/own-apps.js'
import { requestApproval, withdrawRequest } from '../../../../src/browser/account/developer/request-approval.js'
import { nameKey } from '../../../../src/platform/developer-apps/name-key.js'
import { createAppDecisionStore } from '../../../../src/storage/postgres/app-decisions.js'
import { createClientLogoStore } from '../../../../src/storage/postgres/client-logos.js'
import { NOTE } from '../../../support/audit-note.js'
import {
  appInput,
  appOf,
  newActor,
  openOwnApps,
  ownAppDeps,
  registerApp,
  releaseScope
} from '../../../support/developer-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'

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

const change = (part: Partial<AppInput>, of = deps) => changeApp({ clientId, input: { ...input, ...part } }, alice, of)
const app = () => appOf(alice, clientId, deps)

async function approve(verified = false): Promise<void> {
  await requestApproval(clientId, alice, deps)
  const seen = await app()
  const { settings, pending = settings } = seen
  const decided = { settings: pending, nameKey: nameKey(pending.name), verified }
  expect(await createAppDecisionStore(world.database).approve(seen, decided, NOTE)).toBe(true)
}

describe('a change of a draft', () => {
  test('takes effect immediately and raises the revision', async () => {
    const redirectUris = ['https://other.example/callback']
    expect(await change({ redirectUris, branding: { homePage: 'https://boat.example/' } })).toEqual({ kind: 'changed' })
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
