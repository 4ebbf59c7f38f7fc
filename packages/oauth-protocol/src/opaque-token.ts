import { hash } from 'node:crypto'
import { decodeBase62Number, encodeBase62, encodeBase62Number } from './base62.js'
import { crc32 } from './crc32.js'

/**
 * Every secret value that Valetkey hands out is one opaque word:
 *
 *     vk_at_ 0Ab3 kJ…(43)… 1xY9Zq
 *     prefix │    │        └ 6 base62 characters of the CRC-32 of all before them
 *            │    └ 256 random bits in base62 (RFC 6749 §10.10 asks for at least 160)
 *            └ access tokens only: the expiry bucket, 4 base62 characters
 *
 * The longest is 59 characters; README and metadata promise at most 80.
 */
const PREFIX = {
  accessToken: 'vk_at_',
  refreshToken: 'vk_rt_',
  authorizationCode: 'vk_ac_',
  clientSecret: 'vk_cs_',
  operatorKey: 'vk_ok_'
} as const

export type OpaqueTokenKind = keyof typeof PREFIX

/** SHA-256 of a token: the only form in which one is stored or looked up. */
export type TokenDigest = Buffer & { readonly brand: 'TokenDigest' }

const RANDOM_BYTES = 32
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const BUCKET_LENGTH = 4
const BUCKET_SECONDS = 3600
const BODY = /^[0-9A-Za-z]+$/

/** A source of random bytes as good as `node:crypto`'s `randomBytes`. */
export type RandomBytes = (size: number) => Uint8Array

/** Makes a refresh token, authorization code, client secret or operator key. */
export function mintOpaqueToken(kind: Exclude<OpaqueTokenKind, 'accessToken'>, randomBytes: RandomBytes): string {
  return seal(PREFIX[kind] + encodeBase62(randomBytes(RANDOM_BYTES), RANDOM_LENGTH))
}

/** Makes an access token that carries the bucket of its expiry. */
export function mintAccessToken(expiresAt: Date, randomBytes: RandomBytes): string {
  const bucket = encodeBase62Number(expiryBucket(expiresAt), BUCKET_LENGTH)
  return seal(PREFIX.accessToken + bucket + encodeBase62(randomBytes(RANDOM_BYTES), RANDOM_LENGTH))
}

/** A client identifier: 128 random bits in base62, so that it is never taken for an option on a command line. */
export function mintClientIdentifier(randomBytes: RandomBytes): string {
  return encodeBase62(randomBytes(16), 22)
}

/** The hour since 1970 in which an access token ends: the name of the one table that can hold it. */
export function expiryBucket(expiresAt: Date): number {
  return Math.floor(expiresAt.getTime() / 1000 / BUCKET_SECONDS)
}

/** The bucket that a well-formed access token carries. */
export function bucketOfAccessToken(token: string): number | undefined {
  if (!isWellFormed('accessToken', token)) return undefined
  return decodeBase62Number(token.slice(PREFIX.accessToken.length, PREFIX.accessToken.length + BUCKET_LENGTH))
}

/** Whether a value has the prefix, length and checksum of its kind. One that has not was never issued: no lookup. */
export function isWellFormed(kind: OpaqueTokenKind, value: string): boolean {
  const prefix = PREFIX[kind]
  const bucketLength = kind === 'accessToken' ? BUCKET_LENGTH : 0
  if (value.length !== prefix.length + bucketLength + RANDOM_LENGTH + CHECKSUM_LENGTH) return false
  if (!value.startsWith(prefix) || !BODY.test(value.slice(prefix.length))) return false
  return seal(value.slice(0, -CHECKSUM_LENGTH)) === value
}

/** Hashes a token for storage and lookup. A value of 256 random bits needs no slow hash. */
export function digestToken(token: string): TokenDigest {
  return hash('sha256', token, 'buffer') as TokenDigest
}

const SECRET_ID_LENGTH = 12

/**
 * The name of a client secret for operators: the first 12 hexadecimal digits of its SHA-256. Who holds the secret can work
 * it out, and of 256 random bits it gives nothing away.
 */
export function secretIdOf(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, SECRET_ID_LENGTH / 2).toString('hex')
}

function seal(text: string): string {
  return text + encodeBase62Number(crc32(text), CHECKSUM_LENGTH)
}
