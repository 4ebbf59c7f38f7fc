import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { createTextMac, isTextMac } from '@valetkey/oauth-protocol'
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
  const macKeys = cookieKeys.map((key) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'valetkey records in Redis', 32)))
  )
  if (macKeys.length === 0) throw new TypeError('at least one key is needed')
  const newestKey = macKeys.slice(0, 1)

  return {
    protect: (key, content) => `${createTextMac(newestKey, textOf(key, content))} ${content}`,
    open(key, stored) {
      const isAuthentic = hasMac(macKeys, key, stored)
      if (isAuthentic && stored[MAC_LENGTH] === ' ') return stored.slice(MAC_LENGTH + 1)
      onForged(key.split(':', 2).join(':'))
      return undefined
    }
  }
}

function hasMac(macKeys: readonly KeyObject[], key: string, stored: string): boolean {
  return isTextMac(stored.slice(0, MAC_LENGTH), macKeys, textOf(key, stored.slice(MAC_LENGTH + 1)))
}

/** Bound to the key of the record: a record that is copied to another key fails the check. */
function textOf(key: string, content: string): string {
  return `${key}\n${content}`
}
