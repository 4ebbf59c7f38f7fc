import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { FilePosition } from '../../src/storage/file-record.js'
import { createSelectionStore } from '../../src/storage/selections.js'
import { createShownFiles, FILES_ON_PAGE, type FileFilter, type ShownFiles } from '../../src/storage/shown-files.js'
import { importedFile as file, openFileStore } from '../support/stored-files.js'

let opened: Awaited<ReturnType<typeof openFileStore>>
let shown: ShownFiles
beforeAll(async () => {
  opened = await openFileStore()
  shown = createShownFiles(opened.database)
})
afterAll(() => opened.close())

const ALL: FileFilter = { search: '', folder: '', onlyChosen: false }

async function openDraft(ownerId: string) {
  const draft = { draftId: randomUUID(), ownerId }
  await createSelectionStore(opened.database).open(draft, undefined)
  return draft
}

test('pages in both directions have each file once, also of one time', async () => {
  const files = Array.from({ length: 130 }, (_, index) => file(`/one instant/${index}`))
  await opened.files.save('ann', files)
  const draft = await openDraft('ann')
  const down: string[][] = []
  let after: FilePosition | undefined
  do {
    const page = await shown.page(draft, ALL, { after })
    down.push(page.files.map(({ fileId }) => fileId))
    expect(page.isNewerThere).toBe(down.length > 1)
    after = page.isOlderThere ? page.files.at(-1) : undefined
  } while (after !== undefined)
  expect(down.map(({ length }) => length)).toEqual([FILES_ON_PAGE, FILES_ON_PAGE, 30])
  expect(new Set(down.flat()).size).toBe(130)
  const last = { createdAt: files[0]?.createdAt ?? new Date(), fileId: down[2]?.[0] ?? '' }
  const second = await shown.page(draft, ALL, { before: last })
  expect(second.files.map(({ fileId }) => fileId)).toEqual(down[1])
  expect([second.isNewerThere, second.isOlderThere]).toEqual([true, true])
  const first = await shown.page(draft, ALL, { before: second.files[0] })
  expect(first.files.map(({ fileId }) => fileId)).toEqual(down[0])
  expect(first.isNewerThere).toBe(false)
})

test('only chosen files: of the draft, in any part of the list, with a search', async () => {
  const files = Array.from({ length: 120 }, (_, index) =>
    file(`/chosen/${index}.txt`, { createdAt: new Date(Date.UTC(2026, 0, 1) - index * 1_000) })
  )
  await opened.files.save('ben', files)
  const draft = await openDraft('ben')
  const ids = [3, 70, 110].map((place) => files[place]?.fileId ?? '')
  await createSelectionStore(opened.database).mark(draft, [], ids)
  const page = await shown.page(draft, { ...ALL, onlyChosen: true }, {})
  expect(page.files.map(({ fileId, isChosen }) => [fileId, isChosen])).toEqual(ids.map((id) => [id, true]))
  const found = await shown.page(draft, { ...ALL, onlyChosen: true, search: '70' }, {})
  expect(found.files.map(({ name }) => name)).toEqual(['70.txt'])
})

test('folders: those above them, too, of absolute paths as well; never those of another user', async () => {
  await opened.files.save('cleo', [file('a/b/c.txt'), file('/d/e.txt'), file('f.txt'), file('a/g%_.txt/h.txt')])
  await opened.files.save('dan', [file('secret/i.txt')])
  expect(await shown.folders('cleo')).toEqual(['a', 'a/b', 'a/g%_.txt', 'd'])
  const draft = await openDraft('cleo')
  const namesIn = async (folder: string) =>
    (await shown.page(draft, { ...ALL, folder }, {})).files.map(({ name, folder }) => [name, folder]).toSorted()
  expect(await namesIn('a')).toEqual([
    ['c.txt', 'a/b'],
    ['h.txt', 'a/g%_.txt']
  ])
  expect(await namesIn('d')).toEqual([['e.txt', 'd']])
  expect(await namesIn('secret')).toEqual([])
  expect(await shown.found(draft, { ...ALL, folder: 'a' }, 1)).toHaveLength(1)
})

test('a search that ends at its limit says so, also if it finds nothing', async () => {
  await opened.database.query({
    name: 'fill',
    text: `insert into files (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
      select gen_random_uuid(), 'many', '/' || i, sha256(i::text::bytea), i::text, 'text/plain', 'documents', i,
        timestamptz '2026-01-01Z' - i * interval '1 s', '2026-01-01Z' from generate_series(1, 100001) i`,
    values: [],
    withinMs: 100_000
  })
  const draft = await openDraft('many')
  expect(await shown.page(draft, { ...ALL, search: '100001' }, {})).toMatchObject({ files: [], isCut: true })
  expect((await shown.page(draft, { ...ALL, search: '99999' }, {})).files.map(({ name }) => name)).toEqual(['99999'])
  expect(await shown.page(draft, ALL, {})).toMatchObject({ isCut: false, isOlderThere: true })
})
