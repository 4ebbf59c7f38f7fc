import type { AccessToken } from '@valetkey/fastify-bearer'
import type { FileKind } from '../storage/file-record.js'

/** The scope that covers every file: what challenges name, for it always does. */
export const WHOLE_SCOPE = 'files.read'

const KIND_SCOPES: Readonly<Record<string, FileKind>> = {
  'files.read:documents': 'documents',
  'files.read:images': 'images',
  'files.read:media': 'media'
}

/** Every scope that opens the file list. */
export const FILE_SCOPES: readonly string[] = [WHOLE_SCOPE, ...Object.keys(KIND_SCOPES)]

/** What each of them is for, in the words of the API's description. */
export const FILE_SCOPE_MEANINGS: Readonly<Record<string, string>> = {
  [WHOLE_SCOPE]: 'All files',
  'files.read:documents': 'Documents',
  'files.read:images': 'Images',
  'files.read:media': 'Audio and video'
}

/** Whose files, and which of them. */
export type FileAccess = { ownerId: string; kinds: 'all' | readonly FileKind[] }

/** What a token may list. Several scopes add up; undefined when there is nothing it may list. */
export function fileAccess(token: Pick<AccessToken, 'subject' | 'scope'> | null): FileAccess | undefined {
  if (token?.subject === undefined) return undefined
  if (token.scope.has(WHOLE_SCOPE)) return { ownerId: token.subject, kinds: 'all' }
  // In the order of the table and not of the token, so that the same scopes are always the same access.
  const kinds = Object.entries(KIND_SCOPES).flatMap(([scope, kind]) => (token.scope.has(scope) ? [kind] : []))
  return kinds.length === 0 ? undefined : { ownerId: token.subject, kinds }
}
