import type { Database } from '@valetkey/service-kit'
import type { FilePage, FileQuery, ImportedFile } from './file-record.js'
import { listStatement } from './list-files-statement.js'
import { saveStatement } from './save-files-statement.js'

export type SaveCounts = { imported: number; updated: number; unchanged: number }

export type FileStore = ReturnType<typeof createFileStore>

type PageRow = { files_json: string; end_id: string; end_created_ms: string; has_more: boolean }

export function createFileStore(database: Database) {
  return {
    /** Newest first, then by id: at most `limit` files behind a position. */
    async list(query: FileQuery): Promise<FilePage> {
      const [page] = await database.query<PageRow>(listStatement(query))
      if (page === undefined) throw new Error('an aggregate has one row')
      const next = { createdAt: new Date(Number(page.end_created_ms)), fileId: page.end_id }
      return { filesJson: page.files_json, next: page.has_more ? next : undefined }
    },

    /** Adds files or brings them up to date, all or none. No two of `files` may be the same one. */
    async save(ownerId: string, files: readonly ImportedFile[]): Promise<SaveCounts> {
      const changed = await database.query<{ inserted: boolean }>(saveStatement(ownerId, files))
      const imported = changed.filter((row) => row.inserted).length
      return { imported, updated: changed.length - imported, unchanged: files.length - changed.length }
    },

    /** Resolves when the table can be read: the database is there, and migrated. */
    async check(): Promise<void> {
      await database.query({ name: 'check_files', text: 'select file_id from files limit 1', values: [] })
    }
  }
}
