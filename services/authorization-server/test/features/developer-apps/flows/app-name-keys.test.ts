import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { NAME_KEY_VERSION, nameKeys } from '@valetkey/sign-in-rules'
import { changeApp } from '../../../../src/features/developer-apps/change-app.js'
import type { OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { renewNameKeys } from '../../../../src/storage/postgres/name-keys.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'
import { appInput, newActor, openOwnApps, registerApp } from '../support/developer-apps.js'

let world: MigratedDatabase
let deps: OwnAppDeps

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
})
beforeEach(async () => {
  await world.run('delete from clients')
  await world.run('delete from users')
})
afterAll(() => world.close())

const renew = () => renewNameKeys(world.database)
const namesOf = async (clientId: string) => {
  const text = `select name_key from app_names where client_id = '${clientId}' order by name_key collate "C"`
  return (await world.run<{ name_key: string }>(text)).map((row) => row.name_key)
}

test('the name of a registered client is taken when its keys were made again', async () => {
  await world.run(`insert into clients (client_id, name, name_keys, type, redirect_uris, required_scopes, optional_scopes,
    requires_pkce, issues_refresh_tokens, consent, created_at)
    values ('one', 'Wind Chimes', '{windchimes}', 'public', '{}', '{}', '{}', true, true, 'ask', now())`)
  await renew()
  expect(await deps.apps.isNameTaken(nameKeys('Wind Chimes Official'), 'other')).toBe(true)
})

/** Two apps whose names were different by earlier rules. */
async function earlierApps() {
  const [alice, bob] = [await newActor(world), await newActor(world)]
  const first = await registerApp(alice, deps, { name: 'Tin Drum' })
  const second = await registerApp(bob, deps, { name: 'Copper Drum' })
  await world.run(`update clients set name = 'Tin Drum Official' where client_id = '${second.clientId}'`)
  await world.run(`update app_names set name_key = 'tin' where client_id = '${first.clientId}'`)
  await world.run(`update app_names set name_key = 'tinofficial' where client_id = '${second.clientId}'`)
  await Promise.all([renew(), renew()])
  return { bob, first, second }
}

test('two apps whose names look alike by new rules keep them, and can still be changed', async () => {
  const { bob, first, second } = await earlierApps()
  expect(await namesOf(first.clientId)).toEqual(nameKeys('Tin Drum'))
  expect(await namesOf(second.clientId)).toEqual(nameKeys('Tin Drum'))
  const input = appInput({ name: 'Tin Drum Official', redirectUris: ['https://new.example/callback'] })
  expect(await changeApp({ clientId: second.clientId, input }, bob, deps)).toEqual({ kind: 'changed' })
  expect(await namesOf(second.clientId)).toEqual(nameKeys('Tin Drum'))
})

test('the name that two apps have is refused to others, also when one of the two is gone', async () => {
  const { first } = await earlierApps()
  const stranger = await newActor(world)
  await expect(registerApp(stranger, deps, { name: 'T1n Drum' })).rejects.toThrow('taken')
  await world.run(`delete from clients where client_id = '${first.clientId}'`)
  await expect(registerApp(stranger, deps, { name: 'T1n Drum' })).rejects.toThrow('taken')
})

test('keys of names of apps are made for current and pending names', async () => {
  const alice = await newActor(world)
  const { clientId } = await registerApp(alice, deps, { name: 'Tin Drum' })
  await world.run(`update developer_apps set pending = '{"name": "Copper Drum"}' where client_id = '${clientId}'`)
  await world.run(`update app_names set name_key = 'tin' where client_id = '${clientId}'`)
  await renew()
  expect(await namesOf(clientId)).toEqual([...nameKeys('Copper Drum'), ...nameKeys('Tin Drum')].toSorted())
  expect(NAME_KEY_VERSION).toMatch(/^\d+:$/)
})
