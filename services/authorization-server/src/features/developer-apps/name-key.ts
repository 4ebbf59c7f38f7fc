/**
 * Letters of other scripts, and digits, that look like Latin letters in common fonts: the entries of Unicode's confusables.txt
 * (UTS #39 §4) for Cyrillic, Greek, Armenian, Cherokee and Latin extensions that people can type, after case folding. Look-alikes
 * of accents, widths and styles need no entry: NFKD removes them.
 */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: 'аɑαаӑ',
  b: 'вьƅɓ',
  c: 'сϲƈᴄ',
  d: 'ԁɗժ',
  e: 'еɛεєҽ℮',
  f: 'ƒϝſ',
  g: 'ɡցɢ',
  h: 'һнհʜ',
  j: 'јյϳ',
  k: 'кκⲕᴋ',
  l: 'i1|ıіιӏɩɪӀǀاﺍ∣׀ון',
  m: 'мᴍ',
  n: 'ոпηռɴ',
  o: '0оοσօөɵ٥०໐ഠํᴏهо',
  p: 'рρϱᴘ',
  q: 'ԛգզ',
  r: 'гʀᴦ',
  s: '5ѕƽꜱ$',
  t: 'тτᴛ',
  u: 'υսʋᴜц',
  v: 'νѵᴠ',
  w: 'ԝѡωɯաᴡш',
  x: 'хχ×',
  y: 'уүγʏყ',
  z: 'ᴢʐ2'
}

/** Capital letters that look like Latin ones, but whose lower case looks like another letter or like none. */
const CAPITALS: Readonly<Record<string, string>> = {
  ...{ Β: 'b', Ζ: 'z', Η: 'h', Μ: 'm', Ν: 'n', Υ: 'y' },
  ...{ Ꭺ: 'a', Ᏼ: 'b', Ꮯ: 'c', Ꭰ: 'd', Ꭼ: 'e', Ꮐ: 'g', Ꮋ: 'h', Ꭻ: 'j', Ꮶ: 'k', Ꮮ: 'l', Ꮇ: 'm', Ꮲ: 'p', Ꮪ: 's', Ꭲ: 't' },
  ...{ Ꮩ: 'v', Ꮃ: 'w', Ꭹ: 'y', Ꮓ: 'z' }
}

/** Of no width, or as empty as a space: the fillers of Hangul are letters. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}]/gu

const LATIN_OF = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const))
)

/**
 * The form in which names that look alike are equal: without case, accents, spaces and punctuation, and with one letter for all
 * that look like it. Only for comparison.
 */
export function nameKey(name: string): string {
  const visible = name.normalize('NFKD').replace(INVISIBLE, '')
  const capitals = [...visible].map((letter) => CAPITALS[letter] ?? letter).join('')
  // Twice: upper case letters of other scripts may look like lower case ones of Latin.
  const folded = capitals.toLowerCase().normalize('NFKD')
  const letters = [...folded].map((letter) => LATIN_OF.get(letter) ?? letter).join('')
  const key = letters
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
  // A name of signs only, such as emoji.
  return key === '' ? folded.replace(/[\p{Z}\p{C}\p{M}]/gu, '') : key
}

/** Words that say that the operator runs the app. A name of these words alone is refused. */
const RESERVED = [
  ...['account', 'accounts', 'admin', 'administrator', 'api', 'app', 'apps', 'checked', 'help', 'login', 'oauth'],
  ...['official', 'password', 'security', 'sign', 'in', 'support', 'system', 'team', 'the', 'trusted', 'verified']
].map(nameKey)

/** Shorter product names are compared with whole words only: "Box" does not reserve "Dropbox". */
const SHORTEST_PART = 5

/** Whether a name says that the app is the operator's. */
export function isReservedName(name: string, productName: string): boolean {
  const product = nameKey(productName)
  const words = name
    .replace(/[\u3164\uffa0]/g, ' ')
    .replace(INVISIBLE, '')
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .map(nameKey)
  if (nameKey(name) === product || words.includes(product)) return true
  if (product.length >= SHORTEST_PART && nameKey(name).includes(product)) return true
  return words.length > 0 && words.every((word) => RESERVED.includes(word))
}
