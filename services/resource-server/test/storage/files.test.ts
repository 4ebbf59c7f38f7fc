import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, type Database, migrate, StoreUnavailable } from '@valetkey/service-kit'
import { makeFileId } from '../../src/cli/file-id.js'
import type { FileKind, FilePosition, ImportedFile } from '../../src/storage/file-record.js'
import { createFileStore, type FileStore } from '../../src/storage/files.js'

const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations')

let testDatabase: TestDatabase
let database: Database
let files: FileStore

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  await migrate(testDatabase.url, MIGRATIONS)
  database = connectPostgres(testDatabase.url, { connections: 3 })
  files = createFileStore(database)
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

function file(sourcePath: string, change: Partial<ImportedFile> = {}): ImportedFile {
  return {
    fileId: makeFileId(new Date(), randomBytes),
    sourcePath,
    sourceDigest: createHash('sha256').update(sourcePath).digest(),
    name: path.basename(sourcePath),
    mimeType: 'text/plain',
    kind: 'documents',
    size: 1n,
    createdAt: new Date('2026-01-01T00:00:00.000Z'),
    modifiedAt: new Date('2026-01-02T00:00:00.001Z'),
    ...change
  }
}

/** All pages of a user, one after the other. */
async function pagesOf(ownerId: string, kinds: 'all' | readonly FileKind[], limit: number) {
  const names: string[] = []
  let after: FilePosition | undefined
  for (;;) {
    const page = await files.list({ ownerId, kinds, after, limit })
    names.push(...page.map((found) => found.name))
    after = page.at(-1)
    if (page.length < limit || after === undefined) return names
  }
}

test('a file comes back as it was saved, beyond 2^53 bytes and to the millisecond', async () => {
  const saved = file('/a/Grüße "1".txt', { size: 2n ** 62n + 1n })
  expect(await files.save('ann', [saved])).toEqual({ imported: 1, updated: 0, unchanged: 0 })
  const { fileId, name, mimeType, size, createdAt, modifiedAt } = saved
  expect(await files.list({ ownerId: 'ann', kinds: 'all', after: undefined, limit: 10 })).toEqual([
    { fileId, name, mimeType, size, createdAt, modifiedAt }
  ])
})

test('saving again updates what changed, leaves the rest, and keeps the ids', async () => {
  const [same, grown] = [file('/b/same.txt'), file('/b/grown.txt')]
  await files.save('ben', [same, grown])
  const again = [file('/b/same.txt'), file('/b/grown.txt', { size: 2n }), file('/b/new.txt')]
  expect(await files.save('ben', again)).toEqual({ imported: 1, updated: 1, unchanged: 1 })
  const listed = await files.list({ ownerId: 'ben', kinds: 'all', after: undefined, limit: 10 })
  expect(listed).toHaveLength(3)
  expect(listed.find((found) => found.name === 'grown.txt')).toMatchObject({ fileId: grown.fileId, size: 2n })
})

test('created_at never moves to a later time', async () => {
  const early = new Date('2026-01-01T00:00:00.000Z')
  await files.save('cai', [file('/c/a.txt', { createdAt: early })])
  const later = new Date('2026-05-05T00:00:00.000Z')
  expect(await files.save('cai', [file('/c/a.txt', { createdAt: later })])).toMatchObject({ unchanged: 1 })
  expect(await files.save('cai', [file('/c/a.txt', { createdAt: later, size: 2n })])).toMatchObject({ updated: 1 })
  const [found] = await files.list({ ownerId: 'cai', kinds: 'all', after: undefined, limit: 10 })
  expect(found?.createdAt).toEqual(early)
})

test('one path may be a file of two users, and neither sees the other one', async () => {
  await files.save('dan', [file('/shared.txt')])
  expect(await files.save('eva', [file('/shared.txt', { name: 'evas.txt' })])).toMatchObject({ imported: 1 })
  expect(await pagesOf('dan', 'all', 10)).toEqual(['shared.txt'])
  expect(await pagesOf('eva', 'all', 10)).toEqual(['evas.txt'])
})

test('a path longer than an index entry can be is stored', async () => {
  const long = `/${'d'.repeat(200)}`.repeat(20)
  expect(await files.save('fay', [file(`${long}/x`)])).toMatchObject({ imported: 1 })
})

const kindOf: readonly FileKind[] = ['documents', 'images', 'media', 'other']

/** Sixty files at twelve instants, so that many pages end between two files of the same instant. */
async function saveMany(ownerId: string): Promise<ImportedFile[]> {
  const many = Array.from({ length: 60 }, (_, index) =>
    file(`/${ownerId}/${index}`, {
      kind: kindOf[(index * 7) % 4] ?? 'other',
      createdAt: new Date(Date.UTC(2026, 0, 1, 0, 0, 0, index % 12))
    })
  )
  await files.save(ownerId, many)
  return many
}

const inOrder = (many: readonly ImportedFile[]) =>
  [...many]
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.fileId < b.fileId ? -1 : 1))
    .map((one) => one.name)

test.each([
  { kinds: 'all' as const },
  { kinds: ['images'] as const },
  { kinds: ['documents', 'media'] as const },
  { kinds: ['documents', 'images', 'media'] as const }
])('pages of any size add up to the whole list in order: newest first, then by id ($kinds)', async ({ kinds }) => {
  const ownerId = `gus-${kinds}`
  const many = await saveMany(ownerId)
  const expected = inOrder(many.filter((one) => kinds === 'all' || kinds.some((kind) => kind === one.kind)))
  for (const limit of [1, 2, 5, 7, 60, 100]) expect(await pagesOf(ownerId, kinds, limit)).toEqual(expected)
})

test('what comes and goes between two pages neither doubles nor hides what stayed', async () => {
  const many = await saveMany('hal')
  const first = await files.list({ ownerId: 'hal', kinds: 'all', after: undefined, limit: 20 })
  await files.save('hal', [file('/hal/newest', { createdAt: new Date('2027-01-01T00:00:00.000Z') })])
  const last = first.at(-1)
  await database.query({
    name: 'delete_the_position',
    text: 'delete from files where file_id = $1',
    values: [last?.fileId]
  })
  const rest = await files.list({ ownerId: 'hal', kinds: 'all', after: last, limit: 100 })
  expect([...first, ...rest].map((found) => found.name)).toEqual(inOrder(many))
})

test('a later page reads as little as the first one', async () => {
  const many = Array.from({ length: 3_000 }, (_, index) => file(`/ivy/${index}`))
  await files.save('ivy', many)
  await database.query({ name: 'analyze', text: 'analyze files', values: [] })
  const middle = [...many].sort((a, b) => (a.fileId < b.fileId ? -1 : 1))[1_500]
  const { listStatement } = await import('../../src/storage/list-files-statement.js')
  const statement = listStatement({ ownerId: 'ivy', kinds: 'all', after: middle, limit: 10 })
  const rows = await database.query<{ 'QUERY PLAN': string }>({
    name: 'explain_list',
    text: `explain (analyze, costs off, timing off, summary off) ${statement.text}`,
    values: statement.values
  })
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain('files_by_owner')
  // All 3,000 are of one instant: none of those before the position may be read and dropped.
  expect(plan).not.toContain('Rows Removed by Filter')
  expect(plan).not.toMatch(/rows=\d{3,}/)
})

test('a Postgres that is not there is an outage; a refused statement is not', async () => {
  const nobody = connectPostgres('postgres://nobody@127.0.0.1:9/none', { connections: 1 })
  await expect(createFileStore(nobody).check()).rejects.toThrow(StoreUnavailable)
  await nobody.close()
  await expect(database.query({ name: 'wrong', text: 'select nonsense', values: [] })).rejects.not.toThrow(
    StoreUnavailable
  )
  await expect(files.check()).resolves.toBeUndefined()
})
