import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres, type Database, StoreUnavailable } from '@valetkey/service-kit'
import { FILE_KINDS, type FileKind } from '../../src/files/file-scopes.js'
import type { ImportedFile } from '../../src/storage/file-record.js'
import { createFileStore, type FileStore } from '../../src/storage/files.js'
import { importedFile as file, filesOfPage, listAll, openFileStore, readStoredFiles } from '../support/stored-files.js'

let opened: Awaited<ReturnType<typeof openFileStore>>
let database: Database
let files: FileStore

beforeAll(async () => {
  opened = await openFileStore()
  ;({ database, files } = opened)
})
afterAll(() => opened.close())

const namesOf = async (...list: [string, 'all' | readonly FileKind[], number]) =>
  (await listAll(files, ...list)).map((listed) => listed.name)

test('save stores every member, sizes beyond 2^53 and times in milliseconds', async () => {
  const saved = file('/a/Grüße "1".txt', { size: 2n ** 62n + 1n })
  expect(await files.save('ann', [saved])).toEqual({ imported: 1, updated: 0, unchanged: 0 })
  const { fileId, name, mimeType, size, createdAt, modifiedAt } = saved
  expect(await readStoredFiles(database, 'ann')).toEqual([{ fileId, name, mimeType, size, createdAt, modifiedAt }])
})

test('save updates changed files, leaves the others, and keeps all ids', async () => {
  const [same, grown] = [file('/b/same.txt'), file('/b/grown.txt')]
  await files.save('ben', [same, grown])
  const again = [file('/b/same.txt'), file('/b/grown.txt', { size: 2n }), file('/b/new.txt')]
  expect(await files.save('ben', again)).toEqual({ imported: 1, updated: 1, unchanged: 1 })
  const listed = await readStoredFiles(database, 'ben')
  expect(listed).toHaveLength(3)
  expect(listed.find((found) => found.name === 'grown.txt')).toMatchObject({ fileId: grown.fileId, size: 2n })
})

test.each([
  { name: 'later', changed: new Date('2026-05-05T00:00:00.000Z') },
  { name: 'earlier', changed: new Date('2025-05-05T00:00:00.000Z') }
])('save keeps the first created_at of a file: $name', async ({ name, changed }) => {
  const createdAt = new Date('2026-01-01T00:00:00.000Z')
  await files.save(name, [file('/c/a.txt', { createdAt })])
  expect(await files.save(name, [file('/c/a.txt', { createdAt: changed })])).toMatchObject({ unchanged: 1 })
  expect(await files.save(name, [file('/c/a.txt', { createdAt: changed, size: 2n })])).toMatchObject({ updated: 1 })
  const [found] = await readStoredFiles(database, name)
  expect(found?.createdAt).toEqual(createdAt)
})

test('two users may have a file with the same path, and each sees only their own', async () => {
  await files.save('dan', [file('/shared.txt')])
  expect(await files.save('eva', [file('/shared.txt', { name: 'evas.txt' })])).toMatchObject({ imported: 1 })
  expect(await namesOf('dan', 'all', 10)).toEqual(['shared.txt'])
  expect(await namesOf('eva', 'all', 10)).toEqual(['evas.txt'])
})

test('save stores a path that is too long for an index entry', async () => {
  const long = `/${'d'.repeat(200)}`.repeat(20)
  expect(await files.save('fay', [file(`${long}/x`)])).toMatchObject({ imported: 1 })
})

test.each(FILE_KINDS)('Postgres stores and lists a file of the kind %s', async (kind) => {
  const ownerId = `kind-${kind}`
  expect(await files.save(ownerId, [file('/kind', { kind })])).toMatchObject({ imported: 1 })
  expect(await namesOf(ownerId, [kind], 10)).toEqual(['kind'])
})

/** Sixty files at twelve instants, so that many pages end between two files of the same instant. */
async function saveMany(ownerId: string): Promise<ImportedFile[]> {
  const many = Array.from({ length: 60 }, (_, index) =>
    file(`/${ownerId}/${index}`, {
      kind: FILE_KINDS[(index * 7) % FILE_KINDS.length] ?? 'other',
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
])('pages of every size give the whole list, newest first, then by id ($kinds)', async ({ kinds }) => {
  const ownerId = `gus-${kinds}`
  const many = await saveMany(ownerId)
  const expected = inOrder(many.filter((one) => kinds === 'all' || kinds.some((kind) => kind === one.kind)))
  for (const limit of [1, 2, 5, 7, 60, 100]) expect(await namesOf(ownerId, kinds, limit)).toEqual(expected)
})

test.each([
  { count: 0, sizes: [0] },
  { count: 1, sizes: [1] },
  { count: 9, sizes: [9] },
  { count: 10, sizes: [10] },
  { count: 11, sizes: [10, 1] },
  { count: 20, sizes: [10, 10] }
])('$count files give pages of $sizes files; the last page has no next', async ({ count, sizes }) => {
  const ownerId = `hal-${count}`
  await files.save(
    ownerId,
    Array.from({ length: count }, (_, index) => file(`/${ownerId}/${index}`))
  )
  const found: number[] = []
  let page = await files.list({ ownerId, kinds: 'all', after: undefined, limit: 10 })
  found.push(filesOfPage(page).length)
  while (page.next !== undefined) {
    page = await files.list({ ownerId, kinds: 'all', after: page.next, limit: 10 })
    found.push(filesOfPage(page).length)
  }
  expect(found).toEqual(sizes)
})

test('files added or removed between two pages do not repeat or hide other files', async () => {
  const many = await saveMany('ida')
  const first = await files.list({ ownerId: 'ida', kinds: 'all', after: undefined, limit: 20 })
  await files.save('ida', [file('/ida/newest', { createdAt: new Date('2027-01-01T00:00:00.000Z') })])
  await database.query({
    name: 'delete_the_position',
    text: 'delete from files where file_id = $1',
    values: [first.next?.fileId]
  })
  const rest = await files.list({ ownerId: 'ida', kinds: 'all', after: first.next, limit: 100 })
  expect([...filesOfPage(first), ...filesOfPage(rest)].map((listed) => listed.name)).toEqual(inOrder(many))
})

test('an unreachable Postgres is StoreUnavailable; a failing statement is not', async () => {
  const unreachable = connectPostgres('postgres://unknown@127.0.0.1:9/none', { connections: 1 })
  await expect(createFileStore(unreachable).check()).rejects.toThrow(StoreUnavailable)
  await unreachable.close()
  await expect(database.query({ name: 'wrong', text: 'select nonsense', values: [] })).rejects.not.toThrow(
    StoreUnavailable
  )
  await expect(files.check()).resolves.toBeUndefined()
})
