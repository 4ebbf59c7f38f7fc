import { createHash } from 'node:crypto'

/** A SHA-256 in base64url: S256 is the only method here (RFC 7636 §4.2). */
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

export function isCodeChallenge(value: string): boolean {
  return CODE_CHALLENGE.test(value)
}

/** code_verifier of RFC 7636 §4.1. */
export function isCodeVerifier(value: string): boolean {
  return CODE_VERIFIER.test(value)
}

/** The S256 challenge of a verifier (RFC 7636 §4.2). */
export function codeChallengeOf(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url')
}

/**
 * Whether a code verifier belongs to the challenge of its authorization request (RFC 7636 §4.6). A verifier without a challenge
 * does not match, and neither does a challenge without a verifier (RFC 9700 §2.1.1).
 * @param ofVerifier `codeChallengeOf` the verifier; undefined without a verifier
 */
export function matchesCodeChallenge(challenge: string | undefined, ofVerifier: string | undefined): boolean {
  return challenge === ofVerifier
}
