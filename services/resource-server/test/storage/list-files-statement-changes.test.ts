import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import fc from 'fast-check'
import { FILE_KINDS, type FileKind } from '../../src/files/file-scopes.js'
import type { FilePosition, ImportedFile } from '../../src/storage/file-record.js'
import type { FileStore } from '../../src/storage/files.js'
import { filesOfPage, importedFile, type ListedFile, openFileStore } from '../support/stored-files.js'

let opened: Awaited<ReturnType<typeof openFileStore>>
let files: FileStore
/** Separate connections for the writers. */
let elsewhere: { database: Database; files: FileStore }

beforeAll(async () => {
  opened = await openFileStore()
  files = opened.files
  elsewhere = opened.connect()
})
afterAll(async () => {
  await elsewhere.database.close()
  await opened.close()
})

let made = 0

/** Makes a file of one of a few instants, so that many files have the same created_at. */
function make(instant: number, kind: number): ImportedFile {
  made += 1
  // A random id, so that new files are not always last.
  const fileId = crypto.randomUUID()
  const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, 0, instant))
  return importedFile(`/${made}`, { fileId, name: `${made}`, kind: FILE_KINDS[kind] ?? 'other', createdAt })
}

const remove = (fileIds: readonly string[]) =>
  elsewhere.database.query({
    name: 'remove',
    text: 'delete from files where file_id = any($1)',
    values: [fileIds]
  })

type Stay = { before: readonly ImportedFile[]; gone: ReadonlySet<string>; later: readonly ImportedFile[] }

/** Every file that remained is listed once, in order, and no unknown file is listed. */
function expectFaithful(
  listed: readonly ListedFile[],
  kinds: 'all' | readonly FileKind[],
  { before, gone, later }: Stay
) {
  const isCovered = (file: ImportedFile) => kinds === 'all' || kinds.some((kind) => kind === file.kind)
  const ids = listed.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const stayed = before.filter((file) => isCovered(file) && !gone.has(file.fileId)).map(({ fileId }) => fileId)
  expect(stayed.filter((id) => !ids.includes(id))).toEqual([])
  const known = new Set([...before, ...later].filter(isCovered).map(({ fileId }) => fileId))
  expect(ids.filter((id) => !known.has(id))).toEqual([])
  const sorted = [...listed].sort((a, b) =>
    a.created_at === b.created_at ? (a.id < b.id ? -1 : 1) : a.created_at < b.created_at ? 1 : -1
  )
  expect(ids).toEqual(sorted.map(({ id }) => id))
}

const newFile = fc.record({ instant: fc.nat(4), kind: fc.nat(FILE_KINDS.length - 1) })
const someKinds = fc.oneof(
  fc.constant('all' as const),
  fc.constantFrom<readonly FileKind[]>(['images'], ['documents', 'media'], ['documents', 'images', 'media'])
)
/** Between two pages, files are added, and some are deleted, also from the last page. */
const step = fc.record({
  size: fc.integer({ min: 1, max: 7 }),
  come: fc.array(newFile, { maxLength: 4 }),
  go: fc.array(fc.nat(), { maxLength: 4 }),
  goesLast: fc.boolean()
})

test('pages have no file twice, miss no unchanged file, and are in order, although files change between them', async () => {
  let owners = 0
  await fc.assert(
    fc.asyncProperty(
      someKinds,
      fc.array(newFile, { maxLength: 30 }),
      fc.array(step, { minLength: 1, maxLength: 40 }),
      async (kinds, initial, steps) => {
        owners += 1
        const ownerId = `owner ${owners}`
        const before = initial.map(({ instant, kind }) => make(instant, kind))
        await files.save(ownerId, before)
        const [gone, later, listed] = [new Set<string>(), [] as ImportedFile[], [] as ListedFile[]]
        let after: FilePosition | undefined
        for (let turn = 0; turn === 0 || after !== undefined; turn += 1) {
          const { size, come, go, goesLast } = steps[turn % steps.length] ?? {
            size: 7,
            come: [],
            go: [],
            goesLast: false
          }
          const page = await files.list({ ownerId, kinds, after, limit: size })
          expect(filesOfPage(page).length).toBeLessThanOrEqual(size)
          listed.push(...filesOfPage(page))
          after = page.next
          const leaving = go.flatMap((index) => before[index % Math.max(1, before.length)]?.fileId ?? [])
          const last = listed.at(-1)?.id
          for (const id of [...leaving, ...(goesLast && last !== undefined ? [last] : [])]) gone.add(id)
          await remove([...gone])
          // Files are added at most 20 times: those added after the position are listed too, so paging would not end.
          const coming = turn < 20 ? come.map(({ instant, kind }) => make(instant, kind)) : []
          later.push(...coming)
          await elsewhere.files.save(ownerId, coming)
        }
        expectFaithful(listed, kinds, { before, gone, later })
      }
    ),
    { numRuns: 150 }
  )
})

test.each([{ kinds: 'all' as const }, { kinds: ['documents', 'images'] as const }])(
  'paging during concurrent inserts and deletes lists every remaining file once ($kinds)',
  async ({ kinds }) => {
    const ownerId = `busy ${kinds}`
    const before = Array.from({ length: 3_000 }, (_, index) => make(index % 5, index % 4))
    await files.save(ownerId, before)
    const [gone, later] = [new Set<string>(), [] as ImportedFile[]]
    let isPaging = true
    let rounds = 0
    const writer = async (offset: number) => {
      for (let turn = offset; isPaging; turn += 2) {
        const leaving = before.slice(turn * 5, turn * 5 + 2).map(({ fileId }) => fileId)
        const coming = [0, 1, 2, 3].map((kind) => make(turn % 7, kind))
        for (const id of leaving) gone.add(id)
        later.push(...coming)
        await remove(leaving)
        await elsewhere.files.save(ownerId, coming)
        rounds += 1
      }
    }
    const writers = [writer(0), writer(1)]
    const listed: ListedFile[] = []
    let after: FilePosition | undefined
    try {
      do {
        // Each page waits for a change, so that paging and writing overlap.
        const seen = rounds
        const page = await files.list({ ownerId, kinds, after, limit: 50 })
        listed.push(...filesOfPage(page))
        after = page.next
        while (rounds === seen) await new Promise(setImmediate)
      } while (after !== undefined)
    } finally {
      isPaging = false
      await Promise.all(writers)
    }
    expect(rounds).toBeGreaterThan(20)
    expectFaithful(listed, kinds, { before, gone, later })
  }
)
