import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Number of accounts in one cookie. */
const MAX_ACCOUNTS = 8
const SEPARATOR = '~'

/**
 * The value of the cookie that lists the accounts that this browser has signed in to. The cookie signs no user in; it only
 * exempts from the limit over all addresses. Each entry is a MAC, so it cannot be forged and does not reveal the account.
 */
export function rememberAccount(cookie: string | undefined, account: string, keys: readonly string[]): string {
  const entry = sign(keys[0] ?? '', account)
  const others = (cookie ?? '').split(SEPARATOR).filter((other) => /^[\w-]{43}$/.test(other) && other !== entry)
  return [entry, ...others].slice(0, MAX_ACCOUNTS).join(SEPARATOR)
}

export function knowsAccount(cookie: string | undefined, account: string, keys: readonly string[]): boolean {
  const entries = (cookie ?? '').split(SEPARATOR).slice(0, MAX_ACCOUNTS)
  return keys.some((key) => {
    const expected = Buffer.from(sign(key, account))
    return entries.some((entry) => {
      const sent = Buffer.from(entry)
      return sent.length === expected.length && timingSafeEqual(sent, expected)
    })
  })
}

function sign(key: string, account: string): string {
  const accountHash = createHash('sha256').update(account).digest()
  return createHmac('sha256', key).update('known_browser\n').update(accountHash).digest('base64url')
}
