import { createHash, createHmac, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { verify as verifyArgon2 } from '@node-rs/argon2'
import { verify as verifyBcrypt } from '@node-rs/bcrypt'
import phc from '@phc/format'
import { convertHash } from './convert-hash.js'
import { problemOfCryptHash, readCryptHash, verifyCryptHash } from './crypt-hash.js'
import { DIGEST_BYTES, phcBase64 } from './hash-text.js'
import { prepareWith, splitPreparation } from './prepared-password.js'
import { INVITE, problemOfRefusedHash } from './refused-hash.js'

const deriveScrypt = promisify<string, Buffer, number, object, Buffer>(scrypt)
const derivePbkdf2 = promisify(pbkdf2)

/**
 * The most that one sign-in with an imported hash may cost: about two seconds of one processor and 256 MiB. Otherwise an import
 * could stop sign-in for all users (docs/adr/0028-local-accounts.md).
 */
const MOST = {
  argon2KiB: 256 * 1024,
  /** Memory in KiB, times passes. */
  argon2Work: 1024 * 1024,
  bcryptCost: 15,
  scryptBytes: 256 * 1024 * 1024,
  /** Memory in bytes, times `p`. */
  scryptWork: 1024 * 1024 * 1024,
  pbkdf2Iterations: 3_000_000
}
/** A hash of few bytes would match many passwords. */
const HASH_BYTES = { min: 16, max: 64 }
/** The library of argon2 needs eight. OpenLDAP has salts of four bytes. */
const SALT_BYTES = { argon2: { min: 8, max: 64 }, others: { min: 4, max: 64 } }

/** One round of a digest, with the salt before or after the password, or as the key of an HMAC. */
const SALTED = /^(salt-before|salt-after|hmac)-(md5|sha1|sha256|sha384|sha512)$/

/** The unused bits of salt and hash are 0: the library refuses other texts at once, whatever the password. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26]$/
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const BCRYPT_BASE64 = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A credential of Keycloak has some hundred characters of JSON. */
const MOST_CHARACTERS = 4_096
const UNKNOWN_FORMAT = `is no PHC string with salt and hash, no bcrypt hash, and no other supported format: ${INVITE}`

type Parts = { id: string; version: number | undefined; numbers: Record<string, number>; salt: Buffer; hash: Buffer }

/**
 * Reads the hash of a password as another system exports it (docs/password-hashes.md).
 * @returns the text to store, or what is wrong with it
 */
export function readForeignHash(text: string): { passwordHash: string } | { problem: string } {
  if (text.length > MOST_CHARACTERS) return { problem: UNKNOWN_FORMAT }
  const converted = convertHash(text)
  const prepared = splitPreparation(converted)
  const read = readStored(prepared?.inner ?? converted)
  if ('problem' in read || prepared === undefined) return read
  return { passwordHash: `{${prepared.name}}${read.passwordHash}` }
}

function readStored(text: string): { passwordHash: string } | { problem: string } {
  const stored = BCRYPT.test(text) ? text : bcryptOfPhc(text)
  if (stored !== undefined && BCRYPT.test(stored)) {
    const problem = within('the bcrypt cost', Number(BCRYPT.exec(stored)?.[1]), { most: MOST.bcryptCost, least: 4 })
    return problem === undefined ? { passwordHash: stored } : { problem }
  }
  if (stored !== undefined || text.startsWith('$2')) {
    return { problem: `is no complete bcrypt hash with $2a$, $2b$ or $2y$ and 60 characters: ${INVITE}` }
  }
  const crypt = readCryptHash(text)
  const parts = crypt === undefined ? parse(text) : undefined
  const refused = crypt === undefined ? problemOfRefusedHash(text) : undefined
  if (refused !== undefined) return { problem: refused }
  if (crypt === undefined && parts === undefined) return { problem: UNKNOWN_FORMAT }
  const problem = crypt ? problemOfCryptHash(crypt) : parts && (problemOfLengths(parts) ?? problemOfCost(parts))
  return problem === undefined ? { passwordHash: text } : { problem }
}

/** @throws {Error} if the text was not accepted by `readForeignHash` */
export async function verifyForeignHash(stored: string, password: string): Promise<boolean> {
  const prepared = splitPreparation(stored)
  return prepared === undefined
    ? verifyStored(stored, password)
    : verifyStored(prepared.inner, prepareWith(prepared, password))
}

async function verifyStored(stored: string, password: string): Promise<boolean> {
  // bcrypt ignores what follows byte 72, as the system that made the hash did. The argon2id hash that replaces it does not.
  if (BCRYPT.test(stored)) return verifyBcrypt(password, stored)
  if (stored.startsWith('$argon2')) return verifyArgon2(stored, password)
  const crypt = readCryptHash(stored)
  if (crypt !== undefined) return verifyCryptHash(crypt, password)
  const parts = parse(stored)
  if (parts === undefined) throw new Error('a stored password hash has an unknown format')
  return timingSafeEqual(await derive(parts, password), parts.hash)
}

function derive({ id, numbers, salt, hash }: Parts, password: string): Promise<Buffer> {
  const [, way, digest = ''] = SALTED.exec(id) ?? []
  if (way !== undefined) return Promise.resolve(saltedDigest({ way, digest, salt }, password))
  if (id !== 'scrypt') return derivePbkdf2(password, salt, numbers.i ?? 0, hash.length, id.replace('pbkdf2-', ''))
  const { ln = 0, r = 0, p = 0 } = numbers
  const cost = { N: 2 ** ln, r, p }
  // Node's own limit of 32 MiB is below common parameters; `readForeignHash` has checked them.
  return deriveScrypt(password, salt, hash.length, { ...cost, maxmem: 2 * MOST.scryptBytes })
}

function saltedDigest({ way, digest, salt }: { way: string; digest: string; salt: Buffer }, password: string): Buffer {
  if (way === 'hmac') return createHmac(digest, salt).update(password).digest()
  const [first, second] = way === 'salt-before' ? [salt, password] : [password, salt]
  return createHash(digest).update(first).update(second).digest()
}

function parse(text: string): Parts | undefined {
  const [, id] = /^\$([a-z0-9-]{1,32})\$/.exec(text) ?? []
  if (id === undefined || text.length > 512) return undefined
  try {
    const { version, params = {}, salt, hash } = phc.deserialize(text)
    const values = Object.entries(params)
    if (salt === undefined || hash === undefined || values.some(([, value]) => typeof value !== 'number'))
      return undefined
    // The libraries fail on other texts, and no password would match a text that lost a character.
    if (!text.endsWith(`$${phcBase64(salt)}$${phcBase64(hash)}`)) return undefined
    return { id, version, numbers: Object.fromEntries(values) as Record<string, number>, salt, hash }
  } catch {
    return undefined
  }
}

/** The bcrypt format of a PHC string: base64 with another alphabet. */
function bcryptOfPhc(text: string): string | undefined {
  const [, rounds, salt, hash] =
    /^\$bcrypt\$(?:v=98\$)?r=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{31})$/.exec(text) ?? []
  if (rounds === undefined) return undefined
  const characters = [...`${salt}${hash}`].map((character) => BCRYPT_BASE64[BASE64.indexOf(character)])
  return `$2b$${rounds.padStart(2, '0')}$${characters.join('')}`
}

function problemOfLengths({ id, salt, hash }: Parts): string | undefined {
  const isWithin = (value: Buffer, { min, max }: { min: number; max: number }) =>
    value.length >= min && value.length <= max
  const saltBytes = id.startsWith('argon2') ? SALT_BYTES.argon2 : SALT_BYTES.others
  if (!isWithin(salt, saltBytes)) return `the salt must have ${saltBytes.min} to ${saltBytes.max} bytes`
  const digestBytes = DIGEST_BYTES[SALTED.exec(id)?.[2] ?? '']
  if (digestBytes !== undefined && hash.length !== digestBytes) return `the hash must have ${digestBytes} bytes`
  if (!isWithin(hash, HASH_BYTES)) return `the hash must have ${HASH_BYTES.min} to ${HASH_BYTES.max} bytes`
  return undefined
}

function problemOfCost({ id, version, numbers }: Parts): string | undefined {
  const { m = 0, t = 0, p = 0, ln = 0, r = 0, i = 0 } = numbers
  switch (id) {
    case 'argon2id':
    case 'argon2i':
      if (version !== 19) return `must be of argon2 version 19 (v=19): ${INVITE}`
      return (
        exactly(numbers, ['m', 't', 'p']) ??
        within('the lanes (p)', p, { most: 16 }) ??
        within('the memory in KiB (m)', m, { most: MOST.argon2KiB, least: 8 * p }) ??
        within('memory times passes (m times t)', m * t, { most: MOST.argon2Work })
      )
    case 'scrypt':
      return (
        exactly(numbers, ['ln', 'r', 'p']) ??
        // RFC 7914 §2: N is less than 2^(128 * r / 8).
        within('ln', ln, { most: Math.min(20, 16 * r - 1) }) ??
        within('the memory in bytes (128 times r times 2^ln + p)', 128 * r * (2 ** ln + p), {
          most: MOST.scryptBytes
        }) ??
        within('memory times p', 128 * r * 2 ** ln * p, { most: MOST.scryptWork })
      )
    case 'pbkdf2-sha1':
    case 'pbkdf2-sha256':
    case 'pbkdf2-sha512':
      return exactly(numbers, ['i']) ?? within('the iterations (i)', i, { most: MOST.pbkdf2Iterations })
    default:
      if (SALTED.test(id)) return exactly(numbers, [])
      return `${id} is not supported; supported are argon2id, argon2i, bcrypt, scrypt, pbkdf2-sha1, -sha256, -sha512: ${INVITE}`
  }
}

/** A key length `l` repeats the length of the hash. */
function exactly(numbers: Record<string, number>, names: readonly string[]): string | undefined {
  const given = Object.keys(numbers).filter((name) => name !== 'l')
  const areAllGiven = given.length === names.length && names.every((name) => given.includes(name))
  const areWhole = Object.values(numbers).every((value) => Number.isSafeInteger(value))
  const isRight = areAllGiven && areWhole
  return isRight ? undefined : `must have the parameters ${names.join(', ')} as whole numbers, and no others`
}

/** Below the bounds, the libraries refuse to verify a hash: the sign-in would fail with an error. */
function within(
  what: string,
  value: number,
  { most, least = 1 }: { most: number; least?: number }
): string | undefined {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return undefined
  return `${what} must be from ${least} to ${most}: a sign-in would fail, or take too much time or memory`
}
