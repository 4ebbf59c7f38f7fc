import type { Database } from '@valetkey/service-kit'
import type { FileQuery, ImportedFile, StoredFile } from './file-record.js'
import { listStatement } from './list-files-statement.js'
import { saveStatement } from './save-files-statement.js'

export type SaveCounts = { imported: number; updated: number; unchanged: number }

export type FileStore = ReturnType<typeof createFileStore>

type FileRow = { file_id: string; name: string; mime_type: string; size: string; created_at: Date; modified_at: Date }

export function createFileStore(database: Database) {
  return {
    /** Newest first, then by id: at most `limit` files behind a position. */
    async list(query: FileQuery): Promise<StoredFile[]> {
      const rows = await database.query<FileRow>(listStatement(query))
      return rows.map((row) => ({
        fileId: row.file_id,
        name: row.name,
        mimeType: row.mime_type,
        size: BigInt(row.size),
        createdAt: row.created_at,
        modifiedAt: row.modified_at
      }))
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
