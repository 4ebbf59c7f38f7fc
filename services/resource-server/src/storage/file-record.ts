export type StoredFile = {
  fileId: string
  name: string
  mimeType: string
  /** Bytes; a bigint because a size may exceed 2^53. */
  size: bigint
  createdAt: Date
  modifiedAt: Date
}

/** The check constraint on `kind` accepts the kinds of files/file-scopes.ts. */
export type ImportedFile = StoredFile & {
  kind: string
  /** The imported directory that the file belongs to. */
  rootId: string
  /** Inside the root, for display; invalid UTF-8 is replaced. */
  sourcePath: string
  /** The hash of root and path. */
  sourceHash: Buffer
  /** The hash by which an earlier release may have stored the file; undefined if the user has no such files. */
  unrootedHash: Buffer | undefined
}

/** The last file of a page: the next page begins after it. */
export type FilePosition = Pick<StoredFile, 'createdAt' | 'fileId'>

export type FileQuery = {
  ownerId: string
  kinds: 'all' | readonly string[]
  /** With it, the list also has the files of this selection, if it is of the owner and no draft. Not together with all kinds. */
  selectionId?: string
  after: FilePosition | undefined
  limit: number
}

export type FilePage = {
  /** JSON objects, separated by commas, as the response contains them. */
  filesJson: string
  /** How many files these are. */
  count: number
  /** Undefined on the last page. */
  next: FilePosition | undefined
}
