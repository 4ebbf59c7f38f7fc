import type { FileKind } from '../storage/file-record.js'

/** The kind of a file by its MIME type, which is what scopes such as `files.read:images` go by. */
export function kindOfMimeType(mimeType: string): FileKind {
  if (mimeType.startsWith('image/')) return 'images'
  if (mimeType.startsWith('audio/') || mimeType.startsWith('video/')) return 'media'
  if (mimeType.startsWith('text/') || DOCUMENT.test(mimeType)) return 'documents'
  return 'other'
}

/** What people read and write but does not call itself text: office documents, and text in application/ clothes. */
const DOCUMENT = new RegExp(
  `^application/(?:${[
    'pdf|rtf|epub\\+zip|postscript|x-tex|x-latex',
    'msword|vnd\\.ms-(?:excel|powerpoint|word|works)(?:\\..+)?',
    'vnd\\.openxmlformats-officedocument\\..+',
    'vnd\\.oasis\\.opendocument\\..+',
    'vnd\\.apple\\.(?:pages|numbers|keynote)',
    'json|json5|yaml|x-yaml|xml|toml|sql|node|javascript|x-sh|x-subrip|.+\\+(?:json|xml|yaml)'
  ].join('|')})$`
)
