import { hash, verify } from '@node-rs/argon2'
import { MAX_PASSWORD_BYTES } from '@valetkey/sign-in-rules'
import { verifyForeignHash } from './foreign-hash.js'
import { costOf } from './hash-cost.js'
import type { Hashing } from './password-queue.js'

/** argon2id with 19 MiB, two passes, one lane (OWASP's first recommendation). The library does not block the event loop. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** What each present hash begins with. */
const PREFIX = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`

/** A task for the password queue. */
export const hashing = (password: string): Hashing<string> => ({
  cost: costOf(PREFIX),
  work: () => hashPassword(password)
})

/** A task for the password queue. */
export const verification = (passwordHash: string, password: string): Hashing<boolean> => ({
  cost: costOf(passwordHash),
  work: () => verifyPassword(passwordHash, password)
})

/** The same characters typed on another keyboard are the same password (RFC 8265 §4.2). */
function prepare(password: string): string {
  return password.normalize('NFC')
}

/** Control characters cannot be typed into a form, and forms that contain one are refused. Long passwords are not hashed. */
function isAcceptablePassword(password: string): boolean {
  return password !== '' && !/\p{Cc}/u.test(password) && Buffer.byteLength(prepare(password)) <= MAX_PASSWORD_BYTES
}

export async function hashPassword(password: string): Promise<string> {
  return hash(prepare(password), PARAMETERS)
}

export async function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  if (!isAcceptablePassword(password)) return false
  if (passwordHash.startsWith('$argon2id$')) {
    if (await verify(passwordHash, prepare(password))) return true
    // An imported hash may be of the characters as they were typed.
    return isOutdated(passwordHash) && password !== prepare(password) && verify(passwordHash, password)
  }
  return verifyForeignHash(passwordHash, password)
}

/** Whether a hash has other parameters than the current ones; then the next sign-in replaces it. */
export function isOutdated(passwordHash: string): boolean {
  return !passwordHash.startsWith(PREFIX)
}
