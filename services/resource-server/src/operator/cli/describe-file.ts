import type { BigIntStats } from 'node:fs'
import { kindOfMimeType } from '../../files/file-kind.js'
import type { ImportedFile } from '../../storage/file-record.js'
import type { FileIdentity } from './places.js'

export type FoundFile = { name: Buffer; stats: Pick<BigIntStats, 'size' | 'mtimeMs' | 'birthtimeMs'> }

type Known = { fileId: string; identity: FileIdentity; unrootedHash: Buffer | undefined; mimeType: string }

export function describeFile(found: FoundFile, { fileId, identity, unrootedHash, mimeType }: Known): ImportedFile {
  const { size, mtimeMs, birthtimeMs } = found.stats
  // Some file systems have no birth time. A copy that kept its modification time has a birth time later than it.
  const createdMs = birthtimeMs > 0n && birthtimeMs < mtimeMs ? birthtimeMs : mtimeMs
  return {
    fileId,
    rootId: identity.rootId,
    // Invalid UTF-8 becomes U+FFFD, because JSON and Postgres accept only valid text.
    sourcePath: identity.sourcePath.toString('utf8'),
    sourceHash: identity.sourceHash,
    unrootedHash,
    name: found.name.toString('utf8'),
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
