import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** What a client that lost its answer must get again: the same pair. */
export type RetryAnswer = { accessToken: string; refreshToken: string; scope: readonly string[]; expiresAt: string }

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts an answer with a key that only the holder of the old refresh token can derive. The database has the token's
 * hash and this text, and can make neither the token nor the answer of them.
 */
export function sealAnswer(answer: RetryAnswer, oldRefreshToken: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(oldRefreshToken), nonce)
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

export function openAnswer(sealed: Buffer, oldRefreshToken: string): RetryAnswer {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(oldRefreshToken), nonce)
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const encrypted = sealed.subarray(NONCE_BYTES + TAG_BYTES)
  return JSON.parse(Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8')) as RetryAnswer
}

function keyOf(refreshToken: string): Buffer {
  return Buffer.from(hkdfSync('sha256', refreshToken, '', 'valetkey refresh retry answer', 32))
}
