import { CONFUSABLES } from './confusables.js'

/**
 * What UTS #39 keeps apart: small capitals, to which it maps small Cyrillic letters, and letters and digits that people take for
 * Latin letters when they read quickly. Applied to skeletons in lower case.
 */
const ALSO_ALIKE: readonly (readonly [like: string, others: string])[] = [
  ['a', 'ᴀɐ'],
  ['b', 'ʙƅ'],
  ['c', 'ᴄƈ'],
  ['d', 'ᴅɖժ'],
  ['e', 'ᴇɛꞓєҽ'],
  ['f', 'ꜰẝϝ'],
  ['g', 'ɢ'],
  ['h', 'ʜ'],
  ['j', 'ᴊȷ'],
  ['k', 'ᴋĸ'],
  ['l', 'iʟɪ'],
  ['rn', 'ᴍʍ'],
  ['n', 'ɴηπ'],
  ['o', 'ᴏ'],
  ['p', 'ᴘ'],
  ['r', 'ʀ'],
  ['s', 'ꜱ5$'],
  ['t', 'ᴛ'],
  ['u', 'ᴜц'],
  ['v', 'ᴠ'],
  ['w', 'ᴡꞷω'],
  ['x', 'χ'],
  ['y', 'ʏ'],
  ['z', 'ᴢ2']
]

const IGNORED = /\p{Default_Ignorable_Code_Point}/gu

let table: ReadonlyMap<string, string> | undefined
let alsoAlike: ReadonlyMap<string, string> | undefined

/** Each character of confusables.txt and the text that it looks like. Read at the first call. */
export function lookAlikeTable(): ReadonlyMap<string, string> {
  table ??= readLookAlikes()
  return table
}

function readLookAlikes(): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  for (const item of CONFUSABLES.trim().split(/[;\n]/)) {
    const [target = '', distances = ''] = item.split('=')
    const text = String.fromCodePoint(...target.split('.').map((point) => Number.parseInt(point, 36)))
    let point = 0
    for (const distance of distances.split(' ')) {
      point += Number.parseInt(distance, 36)
      entries.set(String.fromCodePoint(point), text)
    }
  }
  return entries
}

/**
 * The skeleton of UTS #39 §4: texts that look alike have one. Only for comparison. Composed characters are looked up as they are
 * first: some have an entry of their own, which their decomposition does not reach.
 */
export function skeleton(text: string): string {
  const entries = lookAlikeTable()
  const prototypes = [...text.normalize('NFC').replace(IGNORED, '')].map((character) => {
    const whole = entries.get(character)
    if (whole !== undefined) return whole
    return [...character.normalize('NFD')].map((part) => entries.get(part) ?? part).join('')
  })
  return prototypes.join('').normalize('NFD')
}

/** Full case folding with the mappings of JavaScript: `ß` becomes `ss`, and the three forms of sigma are one. */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

/**
 * The skeleton in lower case: case is removed after look-alikes are replaced, because capital letters look like others than small
 * ones, and then look-alikes of small letters again. Widths and styles are removed as well.
 */
export function lowerSkeleton(text: string): string {
  alsoAlike ??= new Map(ALSO_ALIKE.flatMap(([like, others]) => [...others].map((other) => [other, like] as const)))
  const like = alsoAlike
  const folded = skeleton(foldCase(skeleton(text).normalize('NFKD')))
  return [...folded].map((character) => like.get(character) ?? character).join('')
}

/** Written before each key, so that keys of earlier rules are found: `valetkey migrate` makes them again. */
export const NAME_KEY_VERSION = '1:'

/** The form in which user names that look alike are equal. */
export function userNameKey(username: string): string {
  return NAME_KEY_VERSION + lowerSkeleton(username).replaceAll('vv', 'w')
}
