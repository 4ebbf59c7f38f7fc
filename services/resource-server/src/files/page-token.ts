import { createMac, isMac, type MacKey } from '@valetkey/oauth-protocol'
import type { FilePosition } from '../storage/file-record.js'
import type { FileAccess } from './file-scopes.js'

/**
 * A page token holds the position of the next page, for one user, one set of kinds and one selection:
 *
 *     base64url( milliseconds of created_at (8 bytes) | file id (16) | HMAC-SHA-256, cut to 16 )
 *
 * The signature also covers owner, kinds and the id of the selection, so a token is invalid for another user or scope. It stays valid
 * when the user changes the selection, as it does when files are added. Nothing is encrypted: the
 * previous page contains the same values.
 */
const POSITION_BYTES = 24
const SIGNATURE_BYTES = 16

export function writePageToken(position: FilePosition, access: FileAccess, keys: readonly MacKey[]): string {
  const bytes = Buffer.alloc(POSITION_BYTES)
  bytes.writeBigInt64BE(BigInt(position.createdAt.getTime()))
  bytes.write(position.fileId.replaceAll('-', ''), 8, 'hex')
  const signature = createMac(keys, textOf(access), bytes).subarray(0, SIGNATURE_BYTES)
  return Buffer.concat([bytes, signature]).toString('base64url')
}

/** @returns undefined for a token with a wrong signature, or of another user or scope */
export function readPageToken(token: string, access: FileAccess, keys: readonly MacKey[]): FilePosition | undefined {
  const bytes = Buffer.from(token, 'base64url')
  // Buffer.from ignores invalid characters, so only the exact text that was issued is accepted.
  if (bytes.length !== POSITION_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token) return undefined
  const position = bytes.subarray(0, POSITION_BYTES)
  const signature = bytes.subarray(POSITION_BYTES)
  if (!isMac(signature, keys, textOf(access), position, SIGNATURE_BYTES)) return undefined
  return {
    createdAt: new Date(Number(position.readBigInt64BE())),
    fileId: position.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }
}

function textOf({ ownerId, kinds, selectionId }: FileAccess): string {
  return JSON.stringify(['page token 1', ownerId, kinds, ...(selectionId === undefined ? [] : [selectionId])])
}
