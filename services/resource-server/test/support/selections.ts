import { randomUUID } from 'node:crypto'
import type { Database } from '@valetkey/service-kit'
import { createSelectionStore } from '../../src/storage/selections.js'

/** Makes a selection of these files. @returns its id */
export async function select(database: Database, ownerId: string, fileIds: readonly string[]): Promise<string> {
  const selections = createSelectionStore(database)
  const draft = { draftId: randomUUID(), ownerId }
  await selections.open(draft, undefined)
  await selections.mark(draft, [], fileIds)
  const selectionId = randomUUID()
  await selections.publish(draft, selectionId)
  return selectionId
}

/** The files of a selection or draft, sorted. */
export async function filesIn(database: Database, selectionId: string): Promise<string[]> {
  const rows = await database.query<{ file_id: string }>({
    name: 'files_in_selection',
    text: 'select file_id from selection_files where selection_id = $1 order by file_id',
    values: [selectionId]
  })
  return rows.map(({ file_id }) => file_id)
}
