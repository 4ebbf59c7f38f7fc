import Negotiator from 'negotiator'

/** Longer lists are no person's wish. */
const MAX_LENGTH = 500

/**
 * The language of a page: what the app asked for in `ui_locales` (a list separated by blanks, the best first), else what
 * the browser prefers (`Accept-Language`, RFC 9110 §12.5.4), else the first that there is.
 */
export function chooseLanguage(
  asked: { uiLocales: string | undefined; acceptLanguage: string | undefined },
  available: readonly string[]
): string | undefined {
  const { uiLocales = '', acceptLanguage = '' } = asked
  const wishes = [uiLocales.split(' ').filter(isTag).join(','), acceptLanguage]
  for (const wish of wishes) {
    if (wish === '' || wish.length > MAX_LENGTH) continue
    const [best] = new Negotiator({ headers: { 'accept-language': wish } }).languages([...available])
    if (best !== undefined) return best
  }
  return available[0]
}

function isTag(text: string): boolean {
  return /^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$/.test(text)
}
