import type { AccessToken } from '@valetkey/guard'

/** Covers every file, so challenges name it. */
export const WHOLE_SCOPE = 'files.read'

/**
 * The only list of the file scopes and of the kinds of files. The migrations of both services and pages in docs/ repeat
 * parts of it; tests compare them with this table.
 */
export const FILE_SCOPES = [
  { scope: WHOLE_SCOPE, kind: 'all', meaning: 'All files' },
  { scope: 'files.read:documents', kind: 'documents', meaning: 'Documents' },
  { scope: 'files.read:images', kind: 'images', meaning: 'Images' },
  { scope: 'files.read:media', kind: 'media', meaning: 'Audio and video' }
] as const satisfies readonly { scope: string; kind: string; meaning: string }[]

/** A kind with a scope of its own. */
type ScopedKind = Exclude<(typeof FILE_SCOPES)[number]['kind'], 'all'>

/** What a scope covers a file by. Derived from the MIME type at the import. */
export type FileKind = ScopedKind | 'other'

const KIND_SCOPES = FILE_SCOPES.flatMap(({ scope, kind }) => (kind === 'all' ? [] : [{ scope, kind }]))

export const FILE_KINDS: readonly FileKind[] = [...KIND_SCOPES.map(({ kind }) => kind), 'other']

/** Each of these gives access to the file list. */
export const SCOPE_NAMES: readonly string[] = FILE_SCOPES.map(({ scope }) => scope)

export const SCOPE_MEANINGS: Readonly<Record<string, string>> = Object.fromEntries(
  FILE_SCOPES.map(({ scope, meaning }) => [scope, meaning])
)

/** The owner of the files, and the kinds that the token covers. */
export type FileAccess = { ownerId: string; kinds: 'all' | readonly FileKind[] }

/** @returns undefined when the token has no user or no file scope. Several scopes add up. */
export function fileAccess(token: Pick<AccessToken, 'subject' | 'scope'>): FileAccess | undefined {
  if (token.subject === undefined) return undefined
  if (token.scope.has(WHOLE_SCOPE)) return { ownerId: token.subject, kinds: 'all' }
  // The kinds are in the order of the table: page tokens are signed over the kinds, so the same scopes must give the same list.
  const kinds = KIND_SCOPES.flatMap(({ scope, kind }) => (token.scope.has(scope) ? [kind] : []))
  return kinds.length === 0 ? undefined : { ownerId: token.subject, kinds }
}
