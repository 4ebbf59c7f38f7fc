import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import { createSelectionStore, type Draft, MOST_CHOSEN, type SelectionStore } from '../../src/storage/selections.js'
import { filesIn, select } from '../support/selections.js'
import { importedFile, openFileStore } from '../support/stored-files.js'

let opened: Awaited<ReturnType<typeof openFileStore>>
let database: Database
let selections: SelectionStore
beforeAll(async () => {
  opened = await openFileStore()
  database = opened.database
  selections = createSelectionStore(database)
})
afterAll(() => opened.close())

/** Ids of new files of a user, sorted. */
async function save(ownerId: string, count: number, kinds = ['documents']): Promise<string[]> {
  const files = Array.from({ length: count }, (_, index) =>
    importedFile(`/${randomUUID()}`, { kind: kinds[index % kinds.length] ?? '' })
  )
  for (let at = 0; at < count; at += 500) await opened.files.save(ownerId, files.slice(at, at + 500))
  return files.map(({ fileId }) => fileId).toSorted()
}

async function openDraft(ownerId: string, presentId?: string): Promise<Draft> {
  const draft = { draftId: randomUUID(), ownerId }
  await selections.open(draft, presentId)
  return draft
}

test('mark stores the ticked files of a page and removes the others of that page only', async () => {
  const [one = '', two = '', three = ''] = await save('ann', 3)
  const draft = await openDraft('ann')
  expect(await selections.mark(draft, [one, two], [one, two])).toBe('saved')
  expect(await selections.mark(draft, [two, three], [three])).toBe('saved')
  expect(await filesIn(database, draft.draftId)).toEqual([one, three].toSorted())
})

test('mark adds no file of another user, and no file that does not exist', async () => {
  const ofAnn = await save('ann', 2)
  const [own = ''] = await save('ben', 1)
  const draft = await openDraft('ben')
  expect(await selections.mark(draft, [], [...ofAnn, own, randomUUID()])).toBe('saved')
  expect(await filesIn(database, draft.draftId)).toEqual([own])
})

test('mark changes no draft of another user, and no selection', async () => {
  const [file = ''] = await save('cleo', 1)
  const { draftId } = await openDraft('cleo')
  expect(await selections.mark({ draftId, ownerId: 'dan' }, [], [file])).toBe('unknown')
  const selectionId = await select(database, 'cleo', [file])
  expect(await selections.mark({ draftId: selectionId, ownerId: 'cleo' }, [file], [])).toBe('unknown')
  expect(await filesIn(database, selectionId)).toEqual([file])
})

test('a draft has at most 1,000 files, and says when some were not added', async () => {
  const files = await save('eva', MOST_CHOSEN + 2)
  const draft = await openDraft('eva')
  expect(await selections.mark(draft, [], files.slice(0, MOST_CHOSEN - 1))).toBe('saved')
  expect(await selections.mark(draft, [], files)).toBe('too_many')
  expect(await filesIn(database, draft.draftId)).toHaveLength(MOST_CHOSEN)
  // A file that is replaced by another one makes room for it.
  const [first = ''] = await filesIn(database, draft.draftId)
  const missing = files.find((file) => !files.slice(0, MOST_CHOSEN).includes(file)) ?? ''
  expect(await selections.mark(draft, [first, missing], [missing])).toBe('saved')
})

test('count has the files of each kind; a draft without files has none, an unknown one is undefined', async () => {
  const files = await save('fay', 5, ['images', 'media'])
  const draft = await openDraft('fay')
  expect(await selections.count(draft)).toEqual({})
  await selections.mark(draft, [], files)
  expect(await selections.count(draft)).toEqual({ images: 3, media: 2 })
  expect(await selections.count({ ...draft, ownerId: 'ann' })).toBeUndefined()
})

test('open copies the selection that a user changes, and none of another user', async () => {
  const files = await save('gil', 3)
  const selectionId = await select(database, 'gil', files)
  expect(await filesIn(database, (await openDraft('gil', selectionId)).draftId)).toEqual(files)
  expect(await filesIn(database, (await openDraft('ann', selectionId)).draftId)).toEqual([])
  expect(await filesIn(database, (await openDraft('gil', randomUUID())).draftId)).toEqual([])
})

test('publish makes a selection that later changes of the draft do not change', async () => {
  const files = await save('hal', 2)
  const draft = await openDraft('hal')
  await selections.mark(draft, [], files)
  const [first, second] = [randomUUID(), randomUUID()]
  await selections.publish(draft, first)
  await selections.mark(draft, files.slice(0, 1), [])
  await selections.publish(draft, second)
  expect(await filesIn(database, first)).toEqual(files)
  expect(await filesIn(database, second)).toEqual(files.slice(1))
})

test('replace removes what is not ticked any more and adds what is new', async () => {
  const [one = '', two = '', three = ''] = await save('ida', 3)
  const selectionId = await select(database, 'ida', [one, two])
  const draft = await openDraft('ida', selectionId)
  await selections.mark(draft, [one, three], [three])
  await selections.replace(draft, selectionId)
  expect(await filesIn(database, selectionId)).toEqual([two, three].toSorted())
})

test('replace makes a selection again that was deleted, and changes none of another user', async () => {
  const [own = ''] = await save('jo', 1)
  const draft = await openDraft('jo')
  await selections.mark(draft, [], [own])
  const gone = randomUUID()
  await selections.replace(draft, gone)
  expect(await filesIn(database, gone)).toEqual([own])
  const [file = ''] = await save('kai', 1)
  const ofKai = await select(database, 'kai', [file])
  await selections.replace(draft, ofKai)
  expect(await filesIn(database, ofKai)).toEqual([file])
})

test('remove deletes a selection of the user only', async () => {
  const files = await save('leo', 1)
  const selectionId = await select(database, 'leo', files)
  await selections.remove('ann', selectionId)
  expect(await filesIn(database, selectionId)).toEqual(files)
  await selections.remove('leo', selectionId)
  expect(await filesIn(database, selectionId)).toEqual([])
})

test('a user has at most 1,000 selections: old drafts go first, then the oldest', async () => {
  await database.query({
    name: 'fill',
    text: `insert into selections (selection_id, owner_id, is_draft, created_at)
      select gen_random_uuid(), 'mia', i = 990, now() - i * interval '1 minute' from generate_series(1, 1000) i`,
    values: []
  })
  const oldest = async () => {
    const [row] = await database.query<{ minutes: number; drafts: number; all: number }>({
      name: 'oldest',
      text: `select round(extract(epoch from max(now() - created_at)) / 60)::int as minutes,
        count(*) filter (where is_draft)::int as drafts, count(*)::int as all from selections where owner_id = 'mia'`,
      values: []
    })
    return row
  }
  await openDraft('mia')
  expect(await oldest()).toEqual({ minutes: 1_000, drafts: 1, all: 1_000 })
  await openDraft('mia')
  expect(await oldest()).toEqual({ minutes: 999, drafts: 2, all: 1_000 })
})
