import { CONFUSABLES } from './confusables.js'
import { foldCase } from './fold-case.js'

/**
 * What UTS #39 keeps apart: small capitals, to which it maps small Cyrillic letters; raised letters and digits in circles, which it
 * maps to others of that look; and letters and digits that people take for Latin letters when they read quickly. Applied to skeletons in lower case.
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
  ['l', 'iʟɪᣳ➀'],
  ['rn', 'ᴍʍ'],
  ['n', 'ɴηπ'],
  ['o', 'ᴏ🄍'],
  ['p', 'ᴘᣖ'],
  ['r', 'ʀᣴ'],
  ['s', 'ꜱ5$ᣵ➄'],
  ['t', 'ᴛ'],
  ['u', 'ᴜц'],
  ['v', 'ᴠ'],
  ['w', 'ᴡꞷω'],
  ['x', 'χ'],
  ['y', 'ʏ'],
  ['z', 'ᴢ2ᙆ➁'],
  ['3', '➂'],
  ['4', '➃'],
  ['6', '➅'],
  ['7', '➆'],
  ['8', '➇'],
  ['9', '➈ꝯ']
]

/** White letters in black circles and squares, which have no decomposition. */
const NEGATIVE_LETTERS = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu

const ASCII = /^[ -~]*$/
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
  const prototypeOf = (character: string) => entries.get(character) ?? character
  // Most names are ASCII, and an import has millions of them.
  if (ASCII.test(text)) return replaceEach(text, prototypeOf)
  const prototypes = replaceEach(
    text.normalize('NFC').replace(IGNORED, ''),
    (character) => entries.get(character) ?? replaceEach(character.normalize('NFD'), prototypeOf)
  )
  return prototypes.normalize('NFD')
}

function replaceEach(text: string, change: (character: string) => string): string {
  let changed = ''
  for (const character of text) changed += change(character)
  return changed
}

/**
 * The skeleton in lower case: case is removed after look-alikes are replaced, because capital letters look like others than small
 * ones, and then look-alikes of small letters again (a zero looks like a capital letter). Widths and styles are removed as well.
 */
export function lowerSkeleton(text: string): string {
  alsoAlike ??= new Map(ALSO_ALIKE.flatMap(([like, others]) => [...others].map((other) => [other, like] as const)))
  const like = alsoAlike
  const folded = skeleton(foldCase(skeleton(text.replace(NEGATIVE_LETTERS, letterOf)).normalize('NFKD'))).toLowerCase()
  return replaceEach(folded, (character) => like.get(character) ?? character)
}

function letterOf(negative: string): string {
  const point = negative.codePointAt(0) ?? 0
  return String.fromCodePoint(0x41 + ((point - 0x1f150) % 32))
}

/** Written before each key, so that keys of earlier rules are found: `valetkey migrate` makes them again. */
export const NAME_KEY_VERSION = '2:'

/** The form in which user names that look alike are equal. */
export function userNameKey(username: string): string {
  return NAME_KEY_VERSION + lowerSkeleton(username).replaceAll('vv', 'w')
}
