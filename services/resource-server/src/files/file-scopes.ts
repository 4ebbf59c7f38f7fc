import type { AccessToken } from '@valetkey/guard'

/** Covers every file, so challenges name it. */
export const WHOLE_SCOPE = 'files.read'

/** Covers what the user chose on the page of choose/. */
const SELECTING_SCOPE = 'files.selected'

/** The type of the authorization details that name a selection (RFC 9396). */
export const SELECTION_TYPE = 'files'

/**
 * The only list of the file scopes and of the kinds of files. The migrations of both services and pages in docs/ repeat
 * parts of it; tests compare them with this table.
 */
export const FILE_SCOPES = [
  { scope: WHOLE_SCOPE, kind: 'all', meaning: 'All files' },
  { scope: 'files.read:documents', kind: 'documents', meaning: 'Documents' },
  { scope: 'files.read:images', kind: 'images', meaning: 'Images' },
  { scope: 'files.read:media', kind: 'media', meaning: 'Audio and video' },
  { scope: SELECTING_SCOPE, kind: 'selected', meaning: 'Only files that the user chooses' }
] as const satisfies readonly { scope: string; kind: string; meaning: string }[]

/** A kind with a scope of its own. */
type ScopedKind = Exclude<(typeof FILE_SCOPES)[number]['kind'], 'all' | 'selected'>

/** What a scope covers a file by. Derived from the MIME type at the import. */
export type FileKind = ScopedKind | 'other'

const KIND_SCOPES = FILE_SCOPES.flatMap(({ scope, kind }) =>
  kind === 'all' || kind === 'selected' ? [] : [{ scope, kind }]
)

export const FILE_KINDS: readonly FileKind[] = [...KIND_SCOPES.map(({ kind }) => kind), 'other']

/** Each of these gives access to the file list. */
export const SCOPE_NAMES: readonly string[] = FILE_SCOPES.map(({ scope }) => scope)

export const SCOPE_MEANINGS: Readonly<Record<string, string>> = Object.fromEntries(
  FILE_SCOPES.map(({ scope, meaning }) => [scope, meaning])
)

/** The owner of the files, and what the token covers: files of these kinds, and those of the selection. */
export type FileAccess = { ownerId: string; kinds: 'all' | readonly FileKind[]; selectionId?: string }

type Token = Pick<AccessToken, 'subject' | 'scope' | 'authorizationDetails'>

/**
 * @returns undefined when the token has no user or no file scope. Several scopes add up. The selecting scope alone, without a
 * selection, covers no file.
 */
export function fileAccess(token: Token): FileAccess | undefined {
  if (token.subject === undefined) return undefined
  if (token.scope.has(WHOLE_SCOPE)) return { ownerId: token.subject, kinds: 'all' }
  // The kinds are in the order of the table: page tokens are signed over the kinds, so the same scopes must give the same list.
  const kinds = KIND_SCOPES.flatMap(({ scope, kind }) => (token.scope.has(scope) ? [kind] : []))
  if (!token.scope.has(SELECTING_SCOPE)) return kinds.length === 0 ? undefined : { ownerId: token.subject, kinds }
  const selectionId = selectionOf(token)
  return { ownerId: token.subject, kinds, ...(selectionId !== undefined && { selectionId }) }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** @returns undefined also for an identifier that this server never makes */
function selectionOf({ authorizationDetails = [] }: Token): string | undefined {
  const identifier = authorizationDetails.find(({ type }) => type === SELECTION_TYPE)?.identifier
  return identifier !== undefined && UUID.test(identifier) ? identifier : undefined
}
