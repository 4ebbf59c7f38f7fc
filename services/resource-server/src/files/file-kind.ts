import type { FileKind, ScopedKind } from './file-scopes.js'

// Office documents, and formats that are text although their type is application/….
const DOCUMENT_SUBTYPES = [
  'pdf|rtf|epub\\+zip|postscript|x-tex|x-latex',
  'msword|vnd\\.ms-(?:excel|powerpoint|word|works)(?:\\..+)?',
  'vnd\\.openxmlformats-officedocument\\..+',
  'vnd\\.oasis\\.opendocument\\..+',
  'vnd\\.apple\\.(?:pages|numbers|keynote)',
  'json|json5|yaml|x-yaml|xml|toml|sql|node|javascript|x-sh|x-subrip|.+\\+(?:json|xml|yaml)'
].join('|')

// No MIME type matches two of these.
const MIME_TYPES: Readonly<Record<ScopedKind, RegExp>> = {
  documents: new RegExp(`^(?:text/|application/(?:${DOCUMENT_SUBTYPES})$)`),
  images: /^image\//,
  media: /^(?:audio|video)\//
}

/** The kind of a file, by which scopes such as `files.read:images` cover it. */
export function kindOfMimeType(mimeType: string): FileKind {
  for (const [kind, pattern] of Object.entries(MIME_TYPES)) if (pattern.test(mimeType)) return kind as ScopedKind
  return 'other'
}
