import { randomBytes } from 'node:crypto'
import { createMac, isMac } from '@valetkey/oauth-protocol'

/** What a challenge is bound to: an answer to it counts in this browser, in this session, and for this purpose only. */
export type ChallengeOwner = { purpose: 'add' | 'sign_in'; browserId: string; sessionHash: string | undefined }

const NONCE_BYTES = 16
const TIME_BYTES = 6

/** Lifetime of a challenge, in milliseconds. */
export const CHALLENGE_MS = 5 * 60_000

/** The clocks of two processes differ by less than this. */
const MOST_AHEAD_MS = 60_000

/**
 * A challenge (WebAuthn Level 3 §13.4.3) that contains its time and a MAC, so that nothing is stored for a browser in which no
 * user is signed in.
 */
export function createChallenge(keys: readonly string[], owner: ChallengeOwner, now: Date): Buffer {
  const head = Buffer.alloc(NONCE_BYTES + TIME_BYTES)
  randomBytes(NONCE_BYTES).copy(head)
  head.writeUIntBE(now.getTime(), NONCE_BYTES, TIME_BYTES)
  return Buffer.concat([head, createMac(keys, textOf(owner), head)])
}

/** `expired`: it was made for this owner, and its lifetime is over. */
export type ChallengeState = 'valid' | 'expired' | 'invalid'

/** Whether the challenge was made for this owner, and when. Challenges of older keys stay valid while keys are rotated. */
export function challengeState(
  value: string,
  keys: readonly string[],
  owner: ChallengeOwner,
  now: Date
): ChallengeState {
  const bytes = Buffer.from(value, 'base64url')
  const head = bytes.subarray(0, NONCE_BYTES + TIME_BYTES)
  const mac = bytes.subarray(NONCE_BYTES + TIME_BYTES)
  if (!isMac(mac, keys, textOf(owner), head)) return 'invalid'
  const age = now.getTime() - head.readUIntBE(NONCE_BYTES, TIME_BYTES)
  if (age >= CHALLENGE_MS) return 'expired'
  return age >= -MOST_AHEAD_MS ? 'valid' : 'invalid'
}

function textOf({ purpose, browserId, sessionHash }: ChallengeOwner): string {
  return `passkey_challenge\n${purpose}\n${browserId}\n${sessionHash ?? ''}\n`
}
