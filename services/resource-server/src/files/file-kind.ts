import type { FileKind } from './file-scopes.js'

/**
 * A wrong kind shows names to apps that may not see them, so types that a pattern below would cover are excluded here:
 * contacts, calendars, positions and keys are no documents, and models no pictures.
 */
const OTHER = new RegExp(
  `^(?:${[
    'text/(?:(?:x-)?vcard|directory|calendar|x-vcalendar|x-uuencode)',
    'application/(?:gpx|pskc|vnd\\.google-earth\\.kml|dash(?:-patch)?)\\+xml',
    'image/x-3ds'
  ].join('|')})$`
)

// Office documents, and formats that are text although their type is application/….
const DOCUMENT_SUBTYPES = [
  'pdf|rtf|epub\\+zip|postscript|x-tex|x-latex|oxps|vnd\\.ms-xpsdocument|x-mobipocket-ebook|vnd\\.amazon\\.ebook',
  'msword|vnd\\.ms-(?:excel|powerpoint|word|works|project|publisher)(?:\\..+)?|x-mspublisher|x-mswrite|x-msaccess|onenote',
  'vnd\\.openxmlformats-officedocument\\..+|vnd\\.visio|vnd\\.ms-visio\\..+',
  'vnd\\.oasis\\.opendocument\\..+|vnd\\.sun\\.xml\\..+|vnd\\.stardivision\\..+',
  'vnd\\.apple\\.(?:pages|numbers|keynote)|vnd\\.google-apps\\.(?:document|drawing|presentation|spreadsheet)',
  'vnd\\.wordperfect|vnd\\.lotus-(?:1-2-3|freelance|wordpro)|vnd\\.dbf|wps-office|x-abiword|x-hwp|hwp\\+zip',
  'json|json5|x-ndjson|yaml|x-yaml|xml|toml|sql|node|javascript|x-sh|x-subrip|.+\\+(?:json|xml|yaml)'
].join('|')

// Scanned pages and drawings of these types are no pictures for people.
const DOCUMENT_IMAGES = 'vnd\\.djvu|vnd\\.ms-modi|vnd\\.dwg|vnd\\.dxf'

// Containers of recordings, and lists of them.
const MEDIA_SUBTYPES = 'mxf|ogg|vnd\\.rn-realmedia(?:-vbr)?|vnd\\.apple\\.mpegurl|vnd\\.ms-wpl|pls\\+xml|xspf\\+xml'

/** The first pattern decides. */
const MIME_TYPES: readonly (readonly [kind: FileKind, pattern: RegExp])[] = [
  ['other', OTHER],
  ['media', new RegExp(`^(?:(?:audio|video)/.+|application/(?:${MEDIA_SUBTYPES}))$`)],
  ['documents', new RegExp(`^(?:text/.+|application/(?:${DOCUMENT_SUBTYPES})|image/(?:${DOCUMENT_IMAGES}))$`)],
  ['images', /^image\//]
]

/** The kind of a file, by which scopes such as `files.read:images` cover it. */
export function kindOfMimeType(mimeType: string): FileKind {
  return MIME_TYPES.find(([, pattern]) => pattern.test(mimeType))?.[0] ?? 'other'
}
