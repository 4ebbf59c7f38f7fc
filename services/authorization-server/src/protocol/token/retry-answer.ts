import { encryptText, openText } from '../../platform/encryption/encrypt-text.js'

/** What a client that lost its answer must get again: the same pair. */
export type RetryAnswer = { accessToken: string; refreshToken: string; scope: readonly string[]; expiresAt: string }

const PURPOSE = 'valetkey refresh retry answer'

/**
 * Encrypts an answer with a key that only the holder of the old refresh token can derive. The database has the token's
 * hash and this text, and can make neither the token nor the answer of them.
 */
export function encryptAnswer(answer: RetryAnswer, oldRefreshToken: string): Buffer {
  return encryptText(JSON.stringify(answer), oldRefreshToken, PURPOSE)
}

export function openAnswer(sealed: Buffer, oldRefreshToken: string): RetryAnswer {
  return JSON.parse(openText(sealed, oldRefreshToken, PURPOSE)) as RetryAnswer
}
