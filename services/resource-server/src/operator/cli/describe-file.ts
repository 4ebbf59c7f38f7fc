import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { kindOfMimeType } from '../../files/file-kind.js'
import type { ImportedFile } from '../../storage/file-record.js'
import { mimeTypeOfName } from './mime-type.js'

/** The record of a file. */
export function describeFile(
  found: { path: Buffer; name: Buffer; stats: Pick<BigIntStats, 'size' | 'mtimeMs' | 'birthtimeMs'> },
  fileId: string
): ImportedFile {
  // Bytes that are not UTF-8 become U+FFFD: JSON and Postgres can hold nothing else.
  const name = found.name.toString('utf8')
  const mimeType = mimeTypeOfName(name)
  const { size, mtimeMs, birthtimeMs } = found.stats
  // Not every file system knows when a file was made, and a copy that kept its times is as old as what it holds.
  const createdMs = birthtimeMs > 0n && birthtimeMs < mtimeMs ? birthtimeMs : mtimeMs
  return {
    fileId,
    sourcePath: found.path.toString('utf8'),
    sourceDigest: createHash('sha256').update(found.path).digest(),
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

/** Damaged file systems have times that RFC 3339 cannot write: those become the nearest it can. */
function toDate(milliseconds: bigint): Date {
  return new Date(Number(milliseconds < EARLIEST ? EARLIEST : milliseconds > LATEST ? LATEST : milliseconds))
}
