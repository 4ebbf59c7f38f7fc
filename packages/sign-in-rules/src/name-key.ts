import { foldCase } from './fold-case.js'
import { lowerSkeleton, NAME_KEY_VERSION } from './skeleton.js'

/** Words that say that the operator runs the app. A name of these words alone is refused. */
const RESERVED = [
  'account',
  'accounts',
  'admin',
  'administrator',
  'api',
  'app',
  'apps',
  'checked',
  'help',
  'login',
  'oauth',
  'official',
  'password',
  'security',
  'sign',
  'in',
  'support',
  'system',
  'team',
  'the',
  'trusted',
  'verified',
  'approved',
  'authentic',
  'authorised',
  'authorized',
  'certified',
  'genuine',
  'offiziell',
  'offizielle',
  'offizieller',
  'offizielles',
  'geprüft',
  'geprüfte',
  'verifiziert',
  'verifizierte',
  'hilfe',
  'رسمي',
  'الرسمي',
  'رسمية',
  'الرسمية',
  'موثق',
  'موثوق',
  'معتمد',
  'تطبيق',
  'دعم',
  'الدعم'
]

/** Words that do not make a name another one. */
const ADDED = [
  'application',
  'inc',
  'incorporated',
  'llc',
  'ltd',
  'limited',
  'gmbh',
  'ag',
  'corp',
  'corporation',
  'co',
  'company',
  'original',
  'real',
  'secure',
  'safe',
  'service',
  'services',
  'customer',
  'online',
  'portal',
  'web',
  'website',
  'mobile',
  'desktop',
  'android',
  'ios',
  'www',
  'com',
  'org',
  'net',
  'for',
  'by',
  'from',
  'die',
  'der',
  'das',
  'und',
  'and'
]

/** These are also recognised where they are written together with the name. Short words are parts of many others. */
const LONG = ['authentic', 'certified', 'checked', 'genuine', 'official', 'offiziell', 'support', 'trusted', 'verified']
/** What is left of such a name has at least this length. */
const SHORTEST_REST = 3

/** These have a compatibility decomposition into letters, which would become a part of the name. */
const TRADE_MARKS = /[\u2120\u2122]/g

/** What divides words. The fillers of Hangul are letters. */
const DIVIDERS = /[^\p{L}\p{M}\p{N}]+/u
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu
const CASE_CHANGES = /(?<=\p{Ll})(?=\p{Lu})/gu

/** Accents, which are marks of all scripts or optional; vowels of Indic scripts and of Thai are not. */
const ACCENTS =
  /(?=\p{M})[\p{Script=Inherited}\p{Script=Arabic}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Syriac}]/gu

const wordKey = (word: string) => lowerSkeleton(word).replace(ACCENTS, '')
const join = (words: readonly string[]) => words.join('').replaceAll('vv', 'w')

const ONLY_RESERVED = lazily(() => new RegExp(`^(?:${[...new Set(RESERVED.flatMap(keysOfWord))].join('|')})+$`))
const ADDED_KEYS = lazily(() => new Set([...RESERVED, ...ADDED].flatMap(keysOfWord)))
const LONG_KEYS = lazily(() => LONG.map((word) => join([wordKey(word)])))

/**
 * The forms of a name for comparison; names that look alike have one in common. The forms have no case, accents, spaces, signs and
 * added words such as "official", and one letter for all that look like it. There are up to three: the name as it is shown, as it
 * is in lower case, and divided where a small letter is before a capital letter, because added words may begin there.
 */
export function nameKeys(name: string): readonly string[] {
  return [...new Set(formsOf(name).map((form) => NAME_KEY_VERSION + keyOf(form)))]
}

/** Whether a name says that the app is the operator's. */
export function isReservedName(name: string, productName: string): boolean {
  const product = join(wordsOf(productName))
  return formsOf(name).some((form) => {
    const words = wordsOf(form)
    const whole = join(words)
    if (whole === product || words.some((word) => join([word]) === product)) return true
    if (product.length >= SHORTEST_PART && whole.includes(product)) return true
    return ONLY_RESERVED().test(whole)
  })
}

/** Shorter product names are compared with whole words only: "Box" does not reserve "Dropbox". */
const SHORTEST_PART = 5

/** The first is not divided at capital letters: a capital I looks like a small l, and names that look alike must have one form. */
const formsOf = (name: string) => [name, foldCase(name), dividedAtCapitals(name)]
const dividedAtCapitals = (name: string) => name.replace(INVISIBLE, '').normalize('NFC').replace(CASE_CHANGES, ' ')

function keyOf(form: string): string {
  const words = wordsOf(form)
  const essential = words.filter((word) => !ADDED_KEYS().has(word))
  const key = withoutLongWords(join(essential.length > 0 ? essential : words))
  if (key !== '') return key
  // A name of signs only, such as emoji, or of marks only.
  const signs = lowerSkeleton(form).replace(/[\p{Z}\p{C}]/gu, '')
  return signs.replace(ACCENTS, '') || signs
}

function wordsOf(name: string): readonly string[] {
  const spaced = name.replace(INVISIBLE, '').replace(TRADE_MARKS, ' ').normalize('NFC')
  return lowerSkeleton(spaced)
    .split(DIVIDERS)
    .map((word) => word.replace(ACCENTS, ''))
    .filter((word) => word !== '')
}

function withoutLongWords(key: string): string {
  const long = LONG_KEYS().find(
    (word) => (key.startsWith(word) || key.endsWith(word)) && key.length - word.length >= SHORTEST_REST
  )
  if (long === undefined) return key
  return withoutLongWords(key.startsWith(long) ? key.slice(long.length) : key.slice(0, -long.length))
}

const keysOfWord = (word: string) => formsOf(word).map(wordKey)

/** The table of look-alikes is read only where names are compared. */
function lazily<Value>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => {
    value ??= make()
    return value
  }
}
