import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import type { FilePosition, FileQuery, ImportedFile } from '../../src/storage/file-record.js'
import { createSelectionStore } from '../../src/storage/selections.js'
import { select } from '../support/selections.js'
import { importedFile as file, filesOfPage, openFileStore } from '../support/stored-files.js'

let opened: Awaited<ReturnType<typeof openFileStore>>
let database: Database
beforeAll(async () => {
  opened = await openFileStore()
  database = opened.database
})
afterAll(() => opened.close())

/** All pages of a list, as names. */
async function namesOf(query: Pick<FileQuery, 'ownerId' | 'kinds' | 'selectionId'>, limit = 2): Promise<string[]> {
  const names: string[] = []
  let after: FilePosition | undefined
  do {
    const page = await opened.files.list({ ...query, after, limit })
    names.push(...filesOfPage(page).map(({ name }) => name))
    after = page.next
  } while (after !== undefined)
  return names
}

/** Of one user: file 0 is the newest; two of each time. */
async function save(ownerId: string, count: number): Promise<ImportedFile[]> {
  const made = Array.from({ length: count }, (_, index) =>
    file(`/${ownerId}/${index}`, {
      kind: ['documents', 'images', 'media'][index % 3] ?? '',
      createdAt: new Date(Date.UTC(2026, 0, 100 - Math.floor(index / 2)))
    })
  )
  await opened.files.save(ownerId, made)
  return made
}

const idsOf = (files: readonly ImportedFile[], ...places: number[]) => places.map((place) => files[place]?.fileId ?? '')

const remove = (fileIds: readonly string[]) =>
  database.query({ name: 'remove', text: 'delete from files where file_id = any ($1)', values: [fileIds] })

test('a selection: exactly its files, at every page size, newest first', async () => {
  const files = await save('ann', 12)
  const selectionId = await select(database, 'ann', idsOf(files, 9, 1, 4, 0))
  for (const limit of [1, 2, 3, 1_000]) {
    const names = await namesOf({ ownerId: 'ann', kinds: [], selectionId }, limit)
    expect(names.toSorted()).toEqual(['0', '1', '4', '9'])
    expect(names.slice(2)).toEqual(['4', '9'])
  }
})

test('a selection and kinds add up: each file once, in one order', async () => {
  const files = await save('ben', 12)
  const selectionId = await select(database, 'ben', idsOf(files, 0, 1, 2, 3))
  for (const limit of [1, 3, 100]) {
    const names = await namesOf({ ownerId: 'ben', kinds: ['images'], selectionId }, limit)
    expect(names.toSorted((one, other) => Number(one) - Number(other))).toEqual(['0', '1', '2', '3', '4', '7', '10'])
    const places = names.map((name) => Math.floor(Number(name) / 2))
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  }
})

test('no selection, an unknown one, and that of another user: an empty list, never all files', async () => {
  const files = await save('cleo', 4)
  const ofCleo = await select(database, 'cleo', idsOf(files, 0, 1))
  await save('dan', 4)
  expect(await namesOf({ ownerId: 'dan', kinds: [] })).toEqual([])
  for (const selectionId of [randomUUID(), ofCleo]) {
    expect(await namesOf({ ownerId: 'dan', kinds: [], selectionId })).toEqual([])
    expect(await namesOf({ ownerId: 'dan', kinds: ['images'], selectionId })).toEqual(['1'])
  }
})

test('a draft is no selection', async () => {
  const files = await save('eva', 2)
  const draft = { draftId: randomUUID(), ownerId: 'eva' }
  const selections = createSelectionStore(database)
  await selections.open(draft, undefined)
  await selections.mark(draft, [], idsOf(files, 0))
  expect(await namesOf({ ownerId: 'eva', kinds: [], selectionId: draft.draftId })).toEqual([])
})

test('deleted files leave a selection; after all of them, the list is empty', async () => {
  const files = await save('fay', 6)
  const selectionId = await select(database, 'fay', idsOf(files, 0, 1, 2))
  await remove(idsOf(files, 1))
  expect((await namesOf({ ownerId: 'fay', kinds: [], selectionId })).toSorted()).toEqual(['0', '2'])
  await remove(idsOf(files, 0, 2))
  expect(await namesOf({ ownerId: 'fay', kinds: [], selectionId })).toEqual([])
})

test('paging continues after the user changed the selection', async () => {
  const files = await save('gil', 12)
  const selectionId = await select(database, 'gil', idsOf(files, 0, 2, 4, 6))
  const query = { ownerId: 'gil', kinds: [], selectionId }
  const first = await opened.files.list({ ...query, after: undefined, limit: 2 })
  const draft = { draftId: randomUUID(), ownerId: 'gil' }
  const selections = createSelectionStore(database)
  await selections.open(draft, selectionId)
  await selections.mark(draft, idsOf(files, 2, 4), [])
  await selections.mark(draft, [], idsOf(files, 8))
  await selections.replace(draft, selectionId)
  const second = await opened.files.list({ ...query, after: first.next, limit: 10 })
  expect(filesOfPage(first).map(({ name }) => name)).toEqual(['0', '2'])
  expect(filesOfPage(second).map(({ name }) => name)).toEqual(['6', '8'])
})

test('concurrent lists of several selections and users share a statement and get their own files', async () => {
  const owners = ['h0', 'h1', 'h2']
  const queries = await Promise.all(
    owners.map(async (ownerId, index) => {
      const files = await save(ownerId, 6)
      return { ownerId, kinds: [], selectionId: await select(database, ownerId, idsOf(files, index, index + 2)) }
    })
  )
  const pages = await Promise.all(queries.map((query) => opened.files.list({ ...query, after: undefined, limit: 10 })))
  const names = pages.map((page) => filesOfPage(page).map(({ name }) => name))
  expect(names).toEqual([
    ['0', '2'],
    ['1', '3'],
    ['2', '4']
  ])
})
