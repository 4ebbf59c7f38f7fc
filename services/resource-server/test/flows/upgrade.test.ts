import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase } from '@valetkey/dev-stack'
import { type ConnectedDatabase, connectPostgres, migrate } from '@valetkey/service-kit'
import { kindOfMimeType } from '../../src/files/file-kind.js'

const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations')

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>
let database: ConnectedDatabase
let before: string
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  database = connectPostgres(testDatabase.url, { connections: 1 })
  before = mkdtempSync(path.join(tmpdir(), 'valetkey-migrations-'))
  for (const name of ['0001_create_files.sql', '0002_create_import_sightings.sql']) {
    cpSync(path.join(MIGRATIONS, name), path.join(before, name))
  }
})
afterAll(async () => {
  rmSync(before, { recursive: true, force: true })
  await database.close()
  await testDatabase.drop()
})

/** Kinds as an earlier release stored them. */
const STORED = [
  { name: 'a.vcf', mimeType: 'text/x-vcard', before: 'documents', after: 'other' },
  { name: 'a.ics', mimeType: 'text/calendar', before: 'documents', after: 'other' },
  { name: 'a.gpx', mimeType: 'application/gpx+xml', before: 'documents', after: 'other' },
  { name: 'a.3ds', mimeType: 'image/x-3ds', before: 'images', after: 'other' },
  { name: 'a.djvu', mimeType: 'image/vnd.djvu', before: 'images', after: 'documents' },
  { name: 'a.xspf', mimeType: 'application/xspf+xml', before: 'documents', after: 'media' },
  { name: 'a.txt', mimeType: 'text/plain', before: 'documents', after: 'documents' },
  { name: 'a.png', mimeType: 'image/png', before: 'images', after: 'images' },
  { name: 'a.zip', mimeType: 'application/zip', before: 'other', after: 'other' }
]
const AMBIGUOUS = [
  { name: '00001.MTS', mimeType: 'text/x-typescript', before: 'documents', after: 'other' },
  { name: 'server.key', mimeType: 'application/vnd.apple.keynote', before: 'documents', after: 'other' }
]

test('the migration corrects kinds that an earlier release stored, and keeps ids and paths', async () => {
  await migrate(testDatabase.url, before)
  const all = [...STORED, ...AMBIGUOUS]
  await database.query({
    name: 'insert_as_before',
    text: `insert into files (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
      select gen_random_uuid(), 'ann', '/a/' || name, sha256(convert_to('/a/' || name, 'UTF8')), name, mime_type, kind, 0,
        now(), now()
      from unnest($1::text[], $2::text[], $3::text[]) as given (name, mime_type, kind)`,
    values: [all.map(({ name }) => name), all.map(({ mimeType }) => mimeType), all.map((file) => file.before)]
  })
  const read = () =>
    database.query<{ name: string; file_id: string; source_path: string; kind: string }>({
      name: 'read_upgraded',
      text: 'select name, file_id, source_path, kind from files order by name',
      values: []
    })
  const old = await read()
  await migrate(testDatabase.url, MIGRATIONS)
  const kinds = new Map(all.map(({ name, after }) => [name, after]))
  expect(await read()).toEqual(old.map((row) => ({ ...row, kind: kinds.get(row.name) })))
})

test.each(STORED)('the migration and the import agree about $mimeType', ({ mimeType, after }) => {
  expect(kindOfMimeType(mimeType)).toBe(after)
})
