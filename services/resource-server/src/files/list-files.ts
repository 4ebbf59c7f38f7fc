import type { StoredFile } from '../storage/file-record.js'
import type { FileStore } from '../storage/files.js'
import type { FileAccess } from './file-scopes.js'
import { readPageToken, writePageToken } from './page-token.js'

export type ListFilesRequest = { access: FileAccess; pageSize: number; pageToken: string | undefined }

export type ListFilesOutcome =
  | { kind: 'page'; files: readonly StoredFile[]; nextPageToken: string | undefined }
  | { kind: 'bad_page_token' }

export type ListFilesNeeds = { files: Pick<FileStore, 'list'>; pageTokenKeys: readonly string[] }

/** One page of the files that a token may see. */
export async function listFiles(
  { access, pageSize, pageToken }: ListFilesRequest,
  { files, pageTokenKeys }: ListFilesNeeds
): Promise<ListFilesOutcome> {
  const after = pageToken === undefined ? undefined : readPageToken(pageToken, access, pageTokenKeys)
  if (pageToken !== undefined && after === undefined) return { kind: 'bad_page_token' }

  // One more than asked for: whether there is a next page is known only by seeing its first file.
  const found = await files.list({ ...access, after, limit: pageSize + 1 })
  const page = found.slice(0, pageSize)
  const last = page.at(-1)
  const isMore = found.length > pageSize && last !== undefined
  return { kind: 'page', files: page, nextPageToken: isMore ? writePageToken(last, access, pageTokenKeys) : undefined }
}
