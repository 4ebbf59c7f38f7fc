import { problemOfUserName } from './canonical-name.js'
import { hasMixedScripts } from './name-scripts.js'

const MAX_LENGTH = 100
/** Longer names are cut first: a provider may send megabytes. */
const LONGEST_GIVEN = 1_000

/** Control characters, lone surrogates, line separators, and characters that change the text direction (Unicode TR 36 §2.3). */
const UNWANTED = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
/** `DI`: characters that are not shown, such as the zero-width space and the Hangul filler. */
const VISIBLE = /[^\p{C}\p{Z}\p{DI}]/u

/** A name as a provider gives it, fit for pages. @returns undefined if nothing visible remains */
export function cleanDisplayName(given: unknown): string | undefined {
  return cleanName(given, MAX_LENGTH)
}

/**
 * Names for a new user, in the order in which they are tried: names of other users are taken. The name is made once; a later
 * change at the provider does not change it.
 * @param suffixes random texts, for when the plain names are taken or the provider gives none. A name that mixes scripts counts as
 *   none (UTS #39 §5.2): with a number behind it, it could still look like that of another user
 */
export function usernameCandidates(given: unknown, suffixes: readonly string[]): readonly string[] {
  const longest = Math.max(2, ...suffixes.map(({ length }) => length + 1))
  // A name with a character that is not shown would look like that of another user.
  const shown = typeof given === 'string' ? given.slice(0, LONGEST_GIVEN).replace(/\p{DI}/gu, '') : undefined
  const cleaned = cleanName(shown, MAX_LENGTH - longest)
  const name = cleaned !== undefined && isGoodUserName(cleaned) ? cleaned : undefined
  const random = suffixes.map((suffix) => `${name ?? 'user'}-${suffix}`)
  return name === undefined ? random : [name, ...[2, 3, 4, 5].map((number) => `${name}-${number}`), ...random]
}

const isGoodUserName = (name: string) => !hasMixedScripts(name) && problemOfUserName(name) === undefined

function cleanName(given: unknown, length: number): string | undefined {
  if (typeof given !== 'string') return undefined
  const name = given.slice(0, LONGEST_GIVEN).normalize('NFC').replace(UNWANTED, ' ').replace(/\s+/g, ' ').trim()
  if (!VISIBLE.test(name)) return undefined
  // A cut must not divide a character into two surrogates.
  return name
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, '')
    .trim()
}
