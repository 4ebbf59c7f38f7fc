import Negotiator from 'negotiator'

/** Longer lists do not come from a user's settings, and are ignored. */
const MAX_LENGTH = 500

/**
 * The language of a page: from `ui_locales` of the request (space-separated, best first), else from the browser
 * (`Accept-Language`, RFC 9110 §12.5.4), else the first available one.
 */
export function chooseLanguage(
  requested: { uiLocales: string | undefined; acceptLanguage: string | undefined },
  available: readonly string[]
): string | undefined {
  const { uiLocales = '', acceptLanguage = '' } = requested
  const lists = [uiLocales.split(' ').filter(isTag).join(','), acceptLanguage]
  for (const list of lists) {
    if (list === '' || list.length > MAX_LENGTH) continue
    const [best] = new Negotiator({ headers: { 'accept-language': list } }).languages([...available])
    if (best !== undefined) return best
  }
  return available[0]
}

function isTag(text: string): boolean {
  return /^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$/.test(text)
}
