import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** How many accounts one browser is remembered for. */
const MAX_ACCOUNTS = 8
const SEPARATOR = '~'

/**
 * The value of the cookie that says which accounts this browser has signed in to before. It only lifts the limit over all
 * addresses; it signs nobody in. Each entry is a MAC, so nobody can make one and nobody can read an account from it.
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
      const given = Buffer.from(entry)
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
  })
}

function sign(key: string, account: string): string {
  const digest = createHash('sha256').update(account).digest()
  return createHmac('sha256', key).update('known_browser\n').update(digest).digest('base64url')
}
