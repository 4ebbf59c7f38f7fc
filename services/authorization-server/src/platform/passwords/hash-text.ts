/** A part that could not be read makes the whole text unreadable. */
type Part<T> = T | undefined

export const DIGEST_BYTES: Readonly<Record<string, number>> = { md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 }
const MOST_HASH_BYTES = 64

/**
 * Base64 as systems write it: of MIME, for URLs, or with `.` in place of `+`; with padding or without.
 * @returns undefined for a text that an encoder does not write, such as one that lost a character
 */
export function readBase64(text: Part<string>): Buffer | undefined {
  if (text === undefined || !/^[A-Za-z0-9+/._-]+={0,2}$/.test(text)) return undefined
  const usual = text.replace(/[.-]/g, '+').replaceAll('_', '/').replaceAll('=', '')
  const bytes = Buffer.from(usual, 'base64')
  return phcBase64(bytes) === usual ? bytes : undefined
}

/** Blocks of PBKDF2 do not depend on each other: of a long hash, the first block is as good. */
export function pbkdf2Text(parts: {
  digest: Part<string>
  iterations: Part<string>
  salt: Part<Buffer>
  hash: Part<Buffer>
}): string | undefined {
  const { digest, iterations, salt, hash } = parts
  if (digest === undefined || iterations === undefined || salt === undefined || hash === undefined) return undefined
  const kept = hash.length > MOST_HASH_BYTES ? hash.subarray(0, DIGEST_BYTES[digest]) : hash
  return `$pbkdf2-${digest}$i=${iterations}$${phcBase64(salt)}$${phcBase64(kept)}`
}

export function scryptText(parts: {
  N: Part<string>
  r: Part<string>
  p: Part<string>
  salt: Part<Buffer>
  hash: Part<Buffer>
}): string | undefined {
  const { N, r, p, salt, hash } = parts
  const log = Math.log2(Number(N))
  if (salt === undefined || hash === undefined || !Number.isInteger(log)) return undefined
  return `$scrypt$ln=${log},r=${r},p=${p}$${phcBase64(salt)}$${phcBase64(hash)}`
}

/** One round of a digest with the salt before or after the password, or as the key of an HMAC. */
export function saltedText(parts: {
  way: 'salt-before' | 'salt-after' | 'hmac'
  digest: Part<string>
  salt: Part<Buffer>
  hash: Part<Buffer>
}): string | undefined {
  const { way, digest = '', salt, hash } = parts
  if (salt === undefined || hash === undefined || hash.length !== DIGEST_BYTES[digest]) return undefined
  return `$${way}-${digest}$${phcBase64(salt)}$${phcBase64(hash)}`
}

export const phcBase64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
