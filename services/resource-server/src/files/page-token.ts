import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FilePosition } from '../storage/file-record.js'
import type { FileAccess } from './file-scopes.js'

/**
 * A page token says where to go on, for one user and one set of kinds:
 *
 *     base64url( milliseconds of created_at (8 bytes) | file id (16) | HMAC-SHA-256, cut to 16 )
 *
 * The signature covers owner and kinds as well, so that a token leads nowhere in other hands. It tells no more than the
 * page before it did, and needs no encryption.
 */
const POSITION_BYTES = 24
const SIGNATURE_BYTES = 16

export function writePageToken(position: FilePosition, access: FileAccess, keys: readonly string[]): string {
  const bytes = Buffer.alloc(POSITION_BYTES)
  bytes.writeBigInt64BE(BigInt(position.createdAt.getTime()))
  bytes.write(position.fileId.replaceAll('-', ''), 8, 'hex')
  const [newestKey] = keys
  if (newestKey === undefined) throw new Error('there is no key to sign page tokens with')
  return Buffer.concat([bytes, sign(bytes, access, newestKey)]).toString('base64url')
}

/** @returns undefined for a token that is not ours, or was made for another user or scope */
export function readPageToken(token: string, access: FileAccess, keys: readonly string[]): FilePosition | undefined {
  const bytes = Buffer.from(token, 'base64url')
  // The decoder forgives much; only the one spelling that was handed out counts.
  if (bytes.length !== POSITION_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token) return undefined
  const position = bytes.subarray(0, POSITION_BYTES)
  const signature = bytes.subarray(POSITION_BYTES)
  if (!keys.some((key) => timingSafeEqual(sign(position, access, key), signature))) return undefined
  return {
    createdAt: new Date(Number(position.readBigInt64BE())),
    fileId: position.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }
}

function sign(position: Buffer, { ownerId, kinds }: FileAccess, key: string): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify(['page token 1', ownerId, kinds]))
    .update(position)
    .digest()
    .subarray(0, SIGNATURE_BYTES)
}
