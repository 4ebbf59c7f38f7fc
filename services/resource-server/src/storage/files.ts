import { batched, type Database, type Statement } from '@valetkey/service-kit'
import type { FilePage, FileQuery, ImportedFile } from './file-record.js'
import { listStatement, shapeOf } from './list-files-statement.js'
import { compareStatement, moveStatement, saveStatement } from './save-files-statement.js'

export type SaveCounts = { imported: number; updated: number; unchanged: number }

export type FileStore = ReturnType<typeof createFileStore>

type PageRow = {
  number: string
  files_json: string
  end_id: string
  end_created_ms: string
  has_more: boolean
  file_count: number
}

/** Limits the memory for the results of one statement: a page may have 1,000 files. */
const PAGES_IN_ONE_STATEMENT = 16

const NO_FILES: FilePage = { filesJson: '', count: 0, next: undefined }

/** @param onBatch called with the number of lists in each statement */
export function createFileStore(database: Database, onBatch?: (size: number) => void) {
  const readers = new Map<string, (query: FileQuery) => Promise<FilePage>>()

  function readerOf(shape: string): (query: FileQuery) => Promise<FilePage> {
    const reader = readers.get(shape) ?? batched(readPages, { largest: PAGES_IN_ONE_STATEMENT, onBatch })
    readers.set(shape, reader)
    return reader
  }

  async function readPages(queries: readonly FileQuery[]): Promise<FilePage[]> {
    const rows = await database.query<PageRow>(listStatement(queries))
    const pages: FilePage[] = []
    for (const row of rows) pages[Number(row.number) - 1] = toPage(row)
    return pages
  }

  async function countChanges(statement: Statement, given: number): Promise<SaveCounts> {
    const changed = await database.query<{ inserted: boolean }>(statement)
    const imported = changed.filter((row) => row.inserted).length
    return { imported, updated: changed.length - imported, unchanged: given - changed.length }
  }

  return {
    /**
     * Newest first, then by id: at most `limit` files after a position. Concurrent queries of the same shape share a
     * statement.
     */
    async list(query: FileQuery): Promise<FilePage> {
      const isEmpty = query.kinds.length === 0 && query.selectionId === undefined
      return isEmpty ? NO_FILES : readerOf(shapeOf(query).name)(query)
    },

    /** Inserts or updates all files or none. `files` must not contain a path twice. */
    async save(ownerId: string, files: readonly ImportedFile[]): Promise<SaveCounts> {
      if (files.some(({ unrootedHash }) => unrootedHash !== undefined))
        await database.query(moveStatement(ownerId, files))
      return countChanges(saveStatement(ownerId, files), files.length)
    },

    /** Counts what `save` would change. */
    compare: (ownerId: string, files: readonly ImportedFile[]) =>
      countChanges(compareStatement(ownerId, files), files.length),

    /** Rejects unless Postgres responds and the table exists. */
    async check(): Promise<void> {
      await database.query({ name: 'check_files', text: 'select file_id from files limit 1', values: [] })
    }
  }
}

function toPage({ files_json, end_id, end_created_ms, has_more, file_count }: PageRow): FilePage {
  const next = { createdAt: new Date(Number(end_created_ms)), fileId: end_id }
  return { filesJson: files_json, count: file_count, next: has_more ? next : undefined }
}
