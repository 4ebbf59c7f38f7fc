import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import path from 'node:path'
import mime from 'mime'
import { kindOfMimeType } from '../../files/file-kind.js'
import type { ImportedFile } from '../../storage/file-record.js'

export function describeFile(
  found: { path: Buffer; name: Buffer; stats: Pick<BigIntStats, 'size' | 'mtimeMs' | 'birthtimeMs'> },
  fileId: string
): ImportedFile {
  // Invalid UTF-8 becomes U+FFFD, because JSON and Postgres accept only valid text.
  const name = found.name.toString('utf8')
  const mimeType = mimeTypeOfName(name)
  const { size, mtimeMs, birthtimeMs } = found.stats
  // Some file systems have no birth time. A copy that kept its modification time has a birth time later than it.
  const createdMs = birthtimeMs > 0n && birthtimeMs < mtimeMs ? birthtimeMs : mtimeMs
  return {
    fileId,
    sourcePath: found.path.toString('utf8'),
    sourceHash: createHash('sha256').update(found.path).digest(),
    name,
    mimeType,
    kind: kindOfMimeType(mimeType),
    size,
    createdAt: toDate(createdMs),
    modifiedAt: toDate(mtimeMs)
  }
}

const EARLIEST = BigInt(Date.parse('0001-01-01T00:00:00.000Z'))
const LATEST = BigInt(Date.parse('9999-12-31T23:59:59.999Z'))

/** A damaged file system may have times outside the range of RFC 3339; they are clamped to it. */
function toDate(milliseconds: bigint): Date {
  return new Date(Number(milliseconds < EARLIEST ? EARLIEST : milliseconds > LATEST ? LATEST : milliseconds))
}

/**
 * The library maps `.ts` and `.mts` to MPEG transport streams, and does not know `.cts` and `.tsx`. Here they are TypeScript,
 * which has no registered type. The trade-off: a recording with one of these names is listed as text.
 */
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx'])

/** The MIME type for a file name, without parameters. */
export function mimeTypeOfName(name: string): string {
  // `.png` is a hidden file without an extension, and so is `html`.
  const extension = path.posix.extname(name).toLowerCase()
  if (TYPESCRIPT.has(extension)) return 'text/x-typescript'
  return mime.getType(extension.slice(1)) ?? 'application/octet-stream'
}
