import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { fileTypeFromBuffer } from 'file-type'
import { mimeTypeOfExtension } from './mime-types.js'

const UNKNOWN = 'application/octet-stream'

/** Content that a name allows, as a prefix of the type that the content has, and the type of such a file. */
type Meanings = readonly (readonly [content: string, mimeType: string])[]

const TEXT = 'text/plain'
/** The container of older Microsoft formats. */
const COMPOUND = 'application/x-cfb'
const CAMERA_RAW: Meanings = [['image/', 'image/x-raw']]

/** Extensions whose files may be of different kinds. */
const AMBIGUOUS: Readonly<Record<string, Meanings>> = {
  // Raw pictures of Kodak cameras, or Director.
  dcr: CAMERA_RAW,
  // Data Interchange Format, or a DV recording.
  dif: [[TEXT, 'text/x-dif']],
  // A template of Word, or Graphviz.
  dot: [
    [TEXT, 'text/vnd.graphviz'],
    [COMPOUND, 'application/msword'],
    ['application/rtf', 'application/rtf']
  ],
  // Keynote, or a private key.
  key: [['application/zip', 'application/vnd.apple.keynote']],
  // A recording of a JVC camera, a module of Go, or music.
  mod: [
    [TEXT, TEXT],
    ['video/', 'video/mpeg']
  ],
  // A recording of a camera, or TypeScript, which has no registered type.
  mts: [
    [TEXT, 'text/x-typescript'],
    ['video/', 'video/mp2t']
  ],
  // A template of PowerPoint, or of translations.
  pot: [
    [TEXT, 'text/x-gettext-translation-template'],
    [COMPOUND, 'application/vnd.ms-powerpoint']
  ],
  // Raw pictures of Pentax cameras, or a text format.
  ptx: [[TEXT, TEXT], ...CAMERA_RAW],
  // Publisher, or a public key.
  pub: [[COMPOUND, 'application/vnd.ms-publisher']],
  // Raw pictures of Panasonic and Leica cameras, or any data.
  raw: CAMERA_RAW,
  // Subtitles as text or as pictures.
  sub: [[TEXT, 'text/plain']],
  ts: [
    [TEXT, 'text/x-typescript'],
    ['video/', 'video/mp2t']
  ]
}

/** This is enough for a few packets of a recording, and for the first entries of an archive. */
const SAMPLE_BYTES = 16_384

/** The MIME type of a file, without parameters: by its name, and by its content if the name is ambiguous. */
export async function findMimeType(file: { path: Buffer; name: Buffer }): Promise<string> {
  // `.png` is a hidden file without an extension, and so is `html`.
  const extension = path.posix.extname(file.name.toString('utf8')).slice(1).toLowerCase()
  if (!Object.hasOwn(AMBIGUOUS, extension)) return mimeTypeOfExtension(extension) ?? UNKNOWN
  const content = await typeOfContent(file.path)
  const meaning = AMBIGUOUS[extension]?.find(([type]) => content?.startsWith(type))
  return meaning?.[1] ?? UNKNOWN
}

async function typeOfContent(file: Buffer): Promise<string | undefined> {
  const sample = await readStart(file)
  if (sample === undefined) return undefined
  if (isText(sample)) return TEXT
  const detected = await fileTypeFromBuffer(sample).catch(() => undefined)
  return detected?.mime
}

/** @returns undefined for a file that cannot be read */
async function readStart(file: Buffer): Promise<Buffer | undefined> {
  try {
    // The entry may have been replaced since: a link is not followed, and a pipe does not block.
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch {
    return undefined
  }
}

/** UTF-8 without control characters, as far as it was read. An empty file is text. */
function isText(sample: Buffer): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: true })
    return !/[^\P{Cc}\t\n\v\f\r]/u.test(text)
  } catch {
    return false
  }
}
