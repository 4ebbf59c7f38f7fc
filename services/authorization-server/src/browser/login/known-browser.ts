import { createHash } from 'node:crypto'
import { createTextMac, isTextMac } from '@valetkey/oauth-protocol'
import type { CanonicalName } from '@valetkey/sign-in-rules'

/** Lifetime of the cookie. */
export const KNOWN_ACCOUNTS_SECONDS = 365 * 86_400

/** Number of accounts in one cookie. */
const MAX_ACCOUNTS = 8
const SEPARATOR = '~'
const PURPOSE = 'known_browser\n'

/**
 * The value of the cookie that lists the accounts that this browser has signed in to. The cookie signs no user in; it only
 * exempts from the limit over all addresses. Each entry is a MAC, so it cannot be forged and does not reveal the account.
 */
export function rememberAccount(cookie: string | undefined, account: CanonicalName, keys: readonly string[]): string {
  const entry = createTextMac(keys, PURPOSE, hashOf(account))
  const others = (cookie ?? '').split(SEPARATOR).filter((other) => /^[\w-]{43}$/.test(other) && other !== entry)
  return [entry, ...others].slice(0, MAX_ACCOUNTS).join(SEPARATOR)
}

export function knowsAccount(cookie: string | undefined, account: CanonicalName, keys: readonly string[]): boolean {
  const entries = (cookie ?? '').split(SEPARATOR).slice(0, MAX_ACCOUNTS)
  const accountHash = hashOf(account)
  return entries.some((entry) => isTextMac(entry, keys, PURPOSE, accountHash))
}

function hashOf(account: CanonicalName): Buffer {
  return createHash('sha256').update(account).digest()
}
