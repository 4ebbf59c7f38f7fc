import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { NAME_KEY_VERSION, nameKeys, userNameKey } from '@valetkey/sign-in-rules'
import { changeApp } from '../../../src/features/developer-apps/change-app.js'
import type { OwnAppDeps } from '../../../src/features/developer-apps/own-apps.js'
import { createIdentityStore } from '../../../src/features/foreign-sign-in/identities/identity-store.js'
import { createUserImportStore } from '../../../src/features/user-import/user-import-store.js'
import { renewNameKeys } from '../../../src/storage/postgres/name-keys.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { appInput, newActor, openOwnApps, registerApp } from '../../support/developer-apps.js'
import type { MigratedDatabase } from '../../support/migrated-database.js'

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
const keysOfUsers = async () => {
  const rows = await world.run<{ username: string; name_key: string | null }>('select username, name_key from users')
  return Object.fromEntries(rows.map((row) => [row.username, row.name_key]))
}
const namesOf = async (clientId: string) => {
  const text = `select name_key from app_names where client_id = '${clientId}' order by name_key collate "C"`
  return (await world.run<{ name_key: string }>(text)).map((row) => row.name_key)
}

describe('keys of user names', () => {
  test('are stored with each new user', async () => {
    await createUserStore(world.database).create(
      { userId: randomUUID(), username: 'Rita', passwordHash: undefined },
      NOTE
    )
    const user = { userId: randomUUID(), username: 'Sina', displayName: undefined }
    const key = { issuer: 'https://id.example', subject: 's' }
    await createIdentityStore(world.database).createUser(user, key, { ...NOTE, userId: user.userId })
    const imported = { userId: randomUUID(), keepsId: false, disabled: false, username: 'Tina', identities: [] }
    const nothing = { passwordHash: undefined, displayName: undefined, email: undefined }
    await createUserImportStore(world.database).add([{ ...imported, ...nothing }], NOTE)
    const names = ['Rita', 'Sina', 'Tina']
    expect(await keysOfUsers()).toEqual(Object.fromEntries(names.map((name) => [name, userNameKey(name)])))
  })

  test('are made for users that have none or an earlier one, in several batches and twice at once', async () => {
    await world.run(`insert into users (user_id, username, canonical_name, created_at, name_key)
      select gen_random_uuid(), 'user ' || n, 'user ' || n, now(), case when n % 2 = 0 then '0:x' end from generate_series(1, 2500) n`)
    await Promise.all([renew(), renew()])
    const keys = await keysOfUsers()
    expect(Object.keys(keys)).toHaveLength(2_500)
    expect(Object.entries(keys).filter(([name, key]) => key !== userNameKey(name))).toEqual([])
  })
})

describe('keys of names of apps', () => {
  const insertClient = (clientId: string, name: string, keys: string) =>
    world.run(`insert into clients (client_id, name, name_keys, type, redirect_uris, required_scopes, optional_scopes,
      requires_pkce, issues_refresh_tokens, consent, created_at)
      values ('${clientId}', '${name}', ${keys}, 'public', '{}', '{}', '{}', true, true, 'ask', now())`)

  test('are made for registered clients with those of earlier rules; a client without keys stays without', async () => {
    await insertClient('one', 'Wind Chimes', `'{windchimes}'`)
    await insertClient('two', 'Wind Chimes', 'null')
    await renew()
    const rows = await world.run('select client_id, name_keys from clients order by client_id')
    expect(rows).toEqual([
      { client_id: 'one', name_keys: nameKeys('Wind Chimes') },
      { client_id: 'two', name_keys: null }
    ])
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

  test('are made for current and pending names', async () => {
    const alice = await newActor(world)
    const { clientId } = await registerApp(alice, deps, { name: 'Tin Drum' })
    await world.run(`update developer_apps set pending = '{"name": "Copper Drum"}' where client_id = '${clientId}'`)
    await world.run(`update app_names set name_key = 'tin' where client_id = '${clientId}'`)
    await renew()
    expect(await namesOf(clientId)).toEqual([...nameKeys('Copper Drum'), ...nameKeys('Tin Drum')].toSorted())
    expect(NAME_KEY_VERSION).toMatch(/^\d+:$/)
  })
})
