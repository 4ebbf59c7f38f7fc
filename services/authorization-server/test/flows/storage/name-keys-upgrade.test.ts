import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { createTestDatabase } from '@valetkey/dev-stack'
import { migrate } from '@valetkey/service-kit'
import { nameKeys, userNameKey } from '@valetkey/sign-in-rules'
import { renewNameKeys } from '../../../src/storage/postgres/name-keys.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { MIGRATIONS } from '../../support/migrated-database.js'

test('users, clients and apps of a database before 0017 keep their names and get keys', async () => {
  const before = mkdtempSync(path.join(tmpdir(), 'valetkey-before-'))
  const earlier = readdirSync(MIGRATIONS).filter((file) => file < '0017')
  for (const file of earlier) cpSync(path.join(MIGRATIONS, file), path.join(before, file))
  const testDatabase = await createTestDatabase()
  await migrate(testDatabase.url, before)
  rmSync(before, { recursive: true })
  const database = connectWithoutLimits(testDatabase.url, { connections: 2 })
  const run = (text: string) => database.query({ name: '', text, values: [] })
  const insertClient = (id: string, name: string, key: string, origin: string) =>
    run(`insert into clients (client_id, name, name_key, origin, type, redirect_uris, required_scopes, optional_scopes,
      requires_pkce, issues_refresh_tokens, consent, created_at)
      values ('${id}', '${name}', ${key}, '${origin}', 'public', '{}', '{}', '{}', true, true, 'ask', now())`)
  await insertClient('registered', 'Wind Chimes', `'vvlndchlmes'`, 'registered')
  for (const [id, name] of [
    ['app-1', 'Tin Drum'],
    ['app-2', 'Tin Drum Official']
  ] as const) {
    await insertClient(id, name, 'null', 'developer')
    await run(`insert into developer_apps (client_id, position) values ('${id}', 1)`)
    await run(`insert into app_names (name_key, client_id) values ('earlier key of ${id}', '${id}')`)
  }

  await migrate(testDatabase.url, MIGRATIONS)
  await run(`insert into users (user_id, username, canonical_name, created_at)
    values (gen_random_uuid(), 'Alice', 'alice', now())`)
  await renewNameKeys(database)

  const [drum] = nameKeys('Tin Drum')
  expect(await run('select client_id, name, name_keys from clients order by client_id')).toEqual([
    { client_id: 'app-1', name: 'Tin Drum', name_keys: null },
    { client_id: 'app-2', name: 'Tin Drum Official', name_keys: null },
    { client_id: 'registered', name: 'Wind Chimes', name_keys: nameKeys('Wind Chimes') }
  ])
  expect(await run('select client_id, name_key, is_shared from app_names order by client_id')).toEqual([
    { client_id: 'app-1', name_key: drum, is_shared: false },
    { client_id: 'app-2', name_key: drum, is_shared: true }
  ])
  expect(await run('select name_key from users')).toEqual([{ name_key: userNameKey('Alice') }])
  await database.close()
  await testDatabase.drop()
})
