/** Longer lists do not come from a user's settings, and are ignored. */
const MAX_LENGTH = 500

type Requested = {
  /** Languages separated by spaces, best first. */
  uiLocales: string | undefined
  acceptLanguage: string | undefined
}

/** A language range (RFC 4647 §2.1), in lower case. */
type WeightedRange = { range: string; weight: number }

/**
 * The language of a page: from `ui_locales` of the request, else from the browser (`Accept-Language`, RFC 9110 §12.5.4), else
 * the first available one that the browser does not refuse.
 * @param available best first
 */
export function chooseLanguage({ uiLocales, acceptLanguage }: Requested, available: readonly string[]) {
  const accepted = readAcceptLanguage(acceptLanguage)
  const refused = accepted.filter(({ weight }) => weight === 0).map(({ range }) => range)
  const acceptable = available.filter((tag) => !refused.includes(tag.toLowerCase()))
  const preferred = accepted.filter(({ weight }) => weight > 0).toSorted((one, other) => other.weight - one.weight)
  return (
    lookUp(readUiLocales(uiLocales), available) ??
    lookUp(
      preferred.map(({ range }) => range),
      acceptable
    ) ??
    acceptable[0] ??
    available[0]
  )
}

/**
 * Lookup (RFC 4647 §3.4): the first range that has a match decides, however exact those of later ranges are. `*` does not say
 * which language, so it is skipped, and the default follows at the end.
 */
function lookUp(ranges: readonly string[], available: readonly string[]): string | undefined {
  for (const range of ranges) {
    const found = matchOf(range, available)
    if (found !== undefined) return found
  }
  return undefined
}

function matchOf(range: string, available: readonly string[]): string | undefined {
  for (let shorter = range; shorter !== ''; shorter = withoutLastSubtag(shorter)) {
    const found = available.find((tag) => tag.toLowerCase() === shorter)
    if (found !== undefined) return found
  }
  // Beyond the RFC: `pt` accepts `pt-BR`, which a reader of any Portuguese prefers to another language.
  return available.find((tag) => tag.toLowerCase().startsWith(`${range}-`))
}

/** Single letters or digits at the end, such as the `x` of private subtags, go with what followed them. */
function withoutLastSubtag(range: string): string {
  const subtags = range.split('-').slice(0, -1)
  while (subtags.at(-1)?.length === 1) subtags.pop()
  return subtags.join('-')
}

const RANGE = /^[a-z]{1,8}(?:-[a-z0-9]{1,8})*$/
const ENTRY = /^([a-z0-9*-]+)(?:[ \t]*;[ \t]*q=(\d(?:\.\d*)?))?$/

function readUiLocales(list = ''): string[] {
  if (list.length > MAX_LENGTH) return []
  return list.toLowerCase().split(' ').filter(isRange)
}

/** An entry that cannot be read is skipped. */
function readAcceptLanguage(header = ''): WeightedRange[] {
  if (header.length > MAX_LENGTH) return []
  return header.split(',').flatMap((entry) => {
    const [, range = '', weight = '1'] = ENTRY.exec(entry.trim().toLowerCase()) ?? []
    return isRange(range) && Number(weight) <= 1 ? [{ range, weight: Number(weight) }] : []
  })
}

function isRange(text: string): boolean {
  return RANGE.test(text)
}
