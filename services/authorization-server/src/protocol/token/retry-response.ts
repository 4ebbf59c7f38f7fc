import type { TokenKeys } from '@valetkey/oauth-protocol'
import { decryptText, encryptText } from '../../platform/encryption/encrypt-text.js'

/** The response of a refresh, for a client that lost it: it must get the same tokens again. */
export type RetryResponse = {
  accessToken: string
  refreshToken: string
  scope: readonly string[]
  expiresAt: string
  /** When the refresh token expires if it is not used. Undefined if responses do not say it. */
  refreshExpiresAt?: string | undefined
  keys?: TokenKeys | undefined
}

const PURPOSE = 'valetkey refresh retry response'

/**
 * Encrypts a response with a key that is derived from the rotated refresh token. The database has only the hash of that token,
 * so it can read neither the token nor the response.
 */
export function encryptResponse(response: RetryResponse, oldRefreshToken: string): Buffer {
  return encryptText(JSON.stringify(response), oldRefreshToken, PURPOSE)
}

/** @throws when the token is another, or the text was changed */
export function decryptResponse(encrypted: Buffer, oldRefreshToken: string): RetryResponse {
  return JSON.parse(decryptText(encrypted, oldRefreshToken, PURPOSE)) as RetryResponse
}
