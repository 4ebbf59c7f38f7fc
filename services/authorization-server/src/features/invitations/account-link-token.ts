import { hash, randomBytes } from 'node:crypto'

/** 256 random bits for an invitation or a reset link. */
export function newAccountLinkToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns the hash, because only that is stored. @returns undefined for a value that is no token */
export function hashAccountLinkToken(token: string | undefined): Buffer | undefined {
  if (token === undefined || !/^[\w-]{43}$/.test(token)) return undefined
  return hash('sha256', token, 'buffer')
}
