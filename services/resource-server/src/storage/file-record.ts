/** What a file is to a scope. Decided when it is imported, from its MIME type. */
export type FileKind = 'documents' | 'images' | 'media' | 'other'

export type StoredFile = {
  fileId: string
  name: string
  mimeType: string
  /** Bytes; beyond what a number holds exactly, should there ever be such a file. */
  size: bigint
  createdAt: Date
  modifiedAt: Date
}

export type ImportedFile = StoredFile & { kind: FileKind; sourcePath: string; sourceDigest: Buffer }

/** Where a page ends and the next one begins. */
export type FilePosition = Pick<StoredFile, 'createdAt' | 'fileId'>

export type FileQuery = {
  ownerId: string
  kinds: 'all' | readonly FileKind[]
  after: FilePosition | undefined
  limit: number
}

export type FilePage = {
  /** The files as they leave: JSON objects with commas between them. */
  filesJson: string
  /** Where the next page begins; undefined when this one is the last. */
  next: FilePosition | undefined
}
