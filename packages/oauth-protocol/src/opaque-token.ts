import { hash } from 'node:crypto'
import { decodeBase62Number, encodeBase62Number, randomBase62 } from './base62.js'
import { crc32 } from './crc32.js'

/**
 * The format of every secret value that Valetkey issues:
 *
 *     vk_at_ 0Ab3 kJ…(43)… 1xY9Zq
 *     prefix │    │        └ 6 base62 characters of the CRC-32 of everything before it
 *            │    └ random base62 characters, 256 bits (RFC 6749 §10.10 asks for at least 160)
 *            └ access tokens only: the bucket (`expiryBucket`), 4 base62 characters
 *
 * The longest value has 59 characters; the documentation promises at most 80.
 */
const PREFIX = {
  accessToken: 'vk_at_',
  refreshToken: 'vk_rt_',
  authorizationCode: 'vk_ac_',
  clientSecret: 'vk_cs_',
  operatorKey: 'vk_ok_',
  requestUri: 'vk_ru_'
} as const

export type OpaqueTokenKind = keyof typeof PREFIX

/** SHA-256 of a token: the only form in which one is stored or looked up. */
export type TokenHash = Buffer & { readonly brand: 'TokenHash' }

const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const BUCKET_LENGTH = 4
const BUCKET_SECONDS = 3600
/** Live tokens are in at most this many buckets and one more, because the first and the last have passed or begun in part. */
const BUCKETS_OF_LIFETIME = 4
const BODY = /^[0-9A-Za-z]+$/

/** A source of random bytes as good as `node:crypto`'s `randomBytes`. */
export type RandomBytes = (size: number) => Uint8Array

/** Creates a refresh token, authorization code, client secret, operator key or the last part of a `request_uri`. */
export function newOpaqueToken(kind: Exclude<OpaqueTokenKind, 'accessToken'>, randomBytes: RandomBytes): string {
  return withChecksum(PREFIX[kind] + randomBase62(RANDOM_LENGTH, randomBytes))
}

/** Creates an access token that includes its bucket (`expiryBucket`). */
export function newOpaqueAccessToken(bucket: number, randomBytes: RandomBytes): string {
  const digits = encodeBase62Number(bucket, BUCKET_LENGTH)
  return withChecksum(PREFIX.accessToken + digits + randomBase62(RANDOM_LENGTH, randomBytes))
}

/** A client identifier: 22 random base62 characters, 130 bits, which a command line cannot mistake for an option. */
export function newClientIdentifier(randomBytes: RandomBytes): string {
  return randomBase62(22, randomBytes)
}

/**
 * The bucket of an access token names the table that stores it. It is the last hour since 1970 in which tokens of the table expire.
 * The token contains it, so that only its issuer needs to know how many hours a table covers.
 * @param longestLifetime of the tokens that this server issues, in seconds: the longer, the more hours a table covers
 */
export function expiryBucket(expiresAt: Date, longestLifetime = BUCKET_SECONDS): number {
  const hours = Math.ceil(longestLifetime / BUCKET_SECONDS / BUCKETS_OF_LIFETIME)
  const hour = Math.floor(expiresAt.getTime() / 1000 / BUCKET_SECONDS)
  return hour - (hour % hours) + hours - 1
}

/** The bucket of a well-formed access token; undefined for any other value. */
export function bucketOfAccessToken(token: string): number | undefined {
  if (!isWellFormed('accessToken', token)) return undefined
  return decodeBase62Number(token.slice(PREFIX.accessToken.length, PREFIX.accessToken.length + BUCKET_LENGTH))
}

/** Whether a value has the prefix, length and checksum of its kind. Any other value was never issued, so it needs no lookup. */
export function isWellFormed(kind: OpaqueTokenKind, value: string): boolean {
  const prefix = PREFIX[kind]
  const bucketLength = kind === 'accessToken' ? BUCKET_LENGTH : 0
  if (value.length !== prefix.length + bucketLength + RANDOM_LENGTH + CHECKSUM_LENGTH) return false
  if (!value.startsWith(prefix) || !BODY.test(value.slice(prefix.length))) return false
  return withChecksum(value.slice(0, -CHECKSUM_LENGTH)) === value
}

const OWN_PREFIXES = Object.values(PREFIX)

/** Whether a value has the prefix of a secret value that Valetkey issues, of whatever kind. */
export function hasOwnPrefix(value: string): boolean {
  return OWN_PREFIXES.some((prefix) => value.startsWith(prefix))
}

/** Hashes a token for storage and lookup. A value of 256 random bits needs no slow hash. */
export function hashToken(token: string): TokenHash {
  return hash('sha256', token, 'buffer') as TokenHash
}

const SECRET_ID_LENGTH = 12

/**
 * The id of a client secret, for operators: the first 12 hexadecimal digits of its SHA-256. It can be computed from the secret
 * and reveals nothing useful about its 256 random bits.
 */
export function secretIdOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, SECRET_ID_LENGTH / 2).toString('hex')
}

function withChecksum(text: string): string {
  return text + encodeBase62Number(crc32(text), CHECKSUM_LENGTH)
}
