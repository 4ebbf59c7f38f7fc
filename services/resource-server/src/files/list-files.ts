import type { MacKey } from '@valetkey/oauth-protocol'
import type { FileStore } from '../storage/files.js'
import type { FileAccess } from './file-scopes.js'
import { readPageToken, writePageToken } from './page-token.js'

export type ListFilesRequest = { access: FileAccess; pageSize: number; pageToken: string | undefined }

export type ListFilesOutcome =
  /** @property count of files */
  { kind: 'page'; filesJson: string; count: number; nextPageToken: string | undefined } | { kind: 'bad_page_token' }

export type ListFilesDeps = { files: Pick<FileStore, 'list'>; pageTokenKeys: readonly MacKey[] }

/** Reads one page of the files that a token covers. */
export async function listFiles(
  { access, pageSize, pageToken }: ListFilesRequest,
  { files, pageTokenKeys }: ListFilesDeps
): Promise<ListFilesOutcome> {
  const after = pageToken === undefined ? undefined : readPageToken(pageToken, access, pageTokenKeys)
  if (pageToken !== undefined && after === undefined) return { kind: 'bad_page_token' }

  const { filesJson, count, next } = await files.list({ ...access, after, limit: pageSize })
  const nextPageToken = next === undefined ? undefined : writePageToken(next, access, pageTokenKeys)
  return { kind: 'page', filesJson, count, nextPageToken }
}
