import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

const hashOf = (digit: string) => digit.repeat(64)

async function insertLogo(digit: string, age: string) {
  const text = "insert into client_logos values ($1, 'image', now() - $2::interval)"
  await opened.run(text, [hashOf(digit), age])
}

async function insertClient(clientId: string, logo: string | null) {
  await opened.run(
    `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at, logo)
    values ($1, 'x', 'public', '{}', '{}', '{}', true, true, 'ask', now(), $2)`,
    [clientId, logo]
  )
}

test('deletes logos that are a day old and that no client and no pending change of an app has', async () => {
  await insertLogo('a', '25 hours')
  await insertLogo('b', '23 hours')
  await insertLogo('c', '25 hours')
  await insertLogo('d', '25 hours')
  await insertClient('shown', hashOf('c'))
  await insertClient('app', null)
  const pending = JSON.stringify({ branding: { logo: hashOf('d') } })
  await opened.run('insert into developer_apps (client_id, position, pending) values ($1, 1, $2)', ['app', pending])
  expect(await createExpiredRows(opened.database).deleteSome()).toBe(false)
  const left = await opened.run<{ hash: string }>('select hash from client_logos order by hash')
  expect(left.map(({ hash }) => hash)).toEqual([hashOf('b'), hashOf('c'), hashOf('d')])
})

test('Postgres refuses to delete the logo of a client, and a client with an unknown logo', async () => {
  await expect(opened.run('delete from client_logos where hash = $1', [hashOf('c')])).rejects.toThrow(/foreign key/)
  await expect(insertClient('other', hashOf('e'))).rejects.toThrow(/foreign key/)
})
