import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/**
 * Callers that make many MACs use a `KeyObject`: Node 24 needs 9 µs for a MAC with a string or buffer, and 2 µs with a
 * `KeyObject`.
 */
export type MacKey = string | KeyObject

const MAC_BYTES = 32

/**
 * The MAC (HMAC-SHA-256, RFC 2104) of a text and of bytes that follow it. The first of the keys makes it, and each of them
 * verifies, so that keys can be rotated. Callers begin the text with its purpose, and separate its parts.
 */
export function createMac(keys: readonly MacKey[], text: string, bytes?: Uint8Array): Buffer {
  return begin(newestOf(keys), text, bytes).digest()
}

/** Whether one of the keys made the MAC. Takes constant time for each key. @param length of a MAC that was shortened, in bytes */
export function isMac(
  given: Uint8Array,
  keys: readonly MacKey[],
  text: string,
  bytes?: Uint8Array,
  length = MAC_BYTES
): boolean {
  for (const key of keys) {
    const expected = begin(key, text, bytes).digest().subarray(0, length)
    if (given.length === length && timingSafeEqual(given, expected)) return true
  }
  return false
}

/** The same as 43 characters, base64url. */
export function createTextMac(keys: readonly MacKey[], text: string, bytes?: Uint8Array): string {
  return begin(newestOf(keys), text, bytes).digest('base64url')
}

/** Compares the characters, because several texts decode to the same bytes. */
export function isTextMac(given: string, keys: readonly MacKey[], text: string, bytes?: Uint8Array): boolean {
  const characters = Buffer.from(given)
  for (const key of keys) {
    const expected = Buffer.from(begin(key, text, bytes).digest('base64url'))
    if (characters.length === expected.length && timingSafeEqual(characters, expected)) return true
  }
  return false
}

function newestOf(keys: readonly MacKey[]): MacKey {
  const [newest] = keys
  if (newest === undefined) throw new TypeError('a MAC needs at least one key')
  return newest
}

function begin(key: MacKey, text: string, bytes: Uint8Array | undefined) {
  const hmac = createHmac('sha256', key).update(text)
  return bytes === undefined ? hmac : hmac.update(bytes)
}
