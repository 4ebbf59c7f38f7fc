import { createHash } from 'node:crypto'

/** What a SHA-256 looks like in base64url: the only form of challenge there is here (RFC 7636 §4.2, S256 only). */
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

export function isCodeChallenge(value: string): boolean {
  return CODE_CHALLENGE.test(value)
}

/** code_verifier of RFC 7636 §4.1. */
export function isCodeVerifier(value: string): boolean {
  return CODE_VERIFIER.test(value)
}

/** The S256 challenge that belongs to a verifier (RFC 7636 §4.2). */
export function codeChallengeOf(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url')
}
