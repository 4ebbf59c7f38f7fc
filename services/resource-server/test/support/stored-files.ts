import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import { createTestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, type Database, migrate } from '@valetkey/service-kit'
import { makeFileId } from '../../src/operator/cli/file-id.js'
import type { FilePage, FilePosition, ImportedFile, StoredFile } from '../../src/storage/file-record.js'
import { createFileStore, type FileStore } from '../../src/storage/files.js'

const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations')

/** Options of a database whose statements never fail because the machine is slow. They only end a hang. */
export const WITHOUT_LIMITS = { statementMs: 150_000, connectMs: 150_000 } as const

const MIGRATED = { name: 'resource_server', fill: (url: string) => migrate(url, MIGRATIONS) }

/** A file store with its own database; close it in `afterAll`. */
export async function openFileStore() {
  const testDatabase = await createTestDatabase(MIGRATED)
  const { url } = testDatabase
  const connect = () => {
    const database = connectPostgres(url, { connections: 4, ...WITHOUT_LIMITS })
    return { database, files: createFileStore(database) }
  }
  const { database, files } = connect()
  return {
    url,
    database,
    files,
    /** Opens further connections; the caller closes them. */
    connect,
    async close() {
      await database.close()
      await testDatabase.drop()
    }
  }
}

const ROOT = '0197f0a1-2b3c-7d4e-8f50-0000000000ff'

export function importedFile(sourcePath: string, change: Partial<ImportedFile> = {}): ImportedFile {
  return {
    fileId: makeFileId(new Date(), randomBytes),
    sourcePath,
    sourceHash: createHash('sha256').update(sourcePath).digest(),
    rootId: ROOT,
    unrootedHash: undefined,
    name: path.basename(sourcePath),
    mimeType: 'text/plain',
    kind: 'documents',
    size: 1n,
    createdAt: new Date('2026-01-01T00:00:00.000Z'),
    modifiedAt: new Date('2026-01-02T00:00:00.001Z'),
    ...change
  }
}

export type ListedFile = {
  id: string
  name: string
  mime_type: string
  size: number
  created_at: string
  modified_at: string
}

/** The files of a page, read from its JSON. A size beyond 2^53 loses digits here, not in the page. */
export const filesOfPage = ({ filesJson }: Pick<FilePage, 'filesJson'>): ListedFile[] => JSON.parse(`[${filesJson}]`)

/** Reads all pages of a user. */
export async function listAll(
  files: Pick<FileStore, 'list'>,
  ownerId: string,
  kinds: 'all' | readonly string[],
  limit: number
): Promise<ListedFile[]> {
  const listed: ListedFile[] = []
  let after: FilePosition | undefined
  do {
    const page = await files.list({ ownerId, kinds, after, limit })
    listed.push(...filesOfPage(page))
    after = page.next
  } while (after !== undefined)
  return listed
}

type Row = { file_id: string; name: string; mime_type: string; size: string; created_at: Date; modified_at: Date }

/** Reads a user's files from the table, without the list statement. */
export async function readStoredFiles(database: Database, ownerId: string): Promise<StoredFile[]> {
  const rows = await database.query<Row>({
    name: 'read_stored_files',
    text: `select file_id, name, mime_type, size, created_at, modified_at
           from files where owner_id = $1 order by created_at desc, file_id`,
    values: [ownerId]
  })
  return rows.map((row) => ({
    fileId: row.file_id,
    name: row.name,
    mimeType: row.mime_type,
    size: BigInt(row.size),
    createdAt: row.created_at,
    modifiedAt: row.modified_at
  }))
}
