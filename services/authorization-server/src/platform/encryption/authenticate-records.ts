import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { RecordAuthentication } from '../../storage/redis/record-authentication.js'

const MAC_LENGTH = 43

/**
 * @param cookieKeys `COOKIE_KEYS`: the first one protects, all of them verify, as for cookies
 * @param onForged receives the kind of a record that failed the check: its key up to the second colon
 */
export function createRecordAuthentication(
  cookieKeys: readonly string[],
  onForged: (kind: string) => void = () => {}
): RecordAuthentication {
  const macKeys = cookieKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'valetkey records in Redis', 32)))
  const [newest] = macKeys
  if (newest === undefined) throw new TypeError('at least one key is needed')

  return {
    protect: (key, content) => `${macOf(newest, key, content)} ${content}`,
    open(key, stored) {
      const isAuthentic = macKeys.some((macKey) => hasMac(macKey, key, stored))
      if (isAuthentic && stored[MAC_LENGTH] === ' ') return stored.slice(MAC_LENGTH + 1)
      onForged(key.split(':', 2).join(':'))
      return undefined
    },
    isOutdated: (key, stored) => macKeys.length > 1 && !hasMac(newest, key, stored)
  }
}

function hasMac(macKey: Buffer, key: string, stored: string): boolean {
  const given = Buffer.from(stored.slice(0, MAC_LENGTH))
  const expected = Buffer.from(macOf(macKey, key, stored.slice(MAC_LENGTH + 1)))
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Bound to the key of the record: a record that is copied to another key fails the check. */
function macOf(macKey: Buffer, key: string, content: string): string {
  return createHmac('sha256', macKey).update(`${key}\n${content}`).digest('base64url')
}
