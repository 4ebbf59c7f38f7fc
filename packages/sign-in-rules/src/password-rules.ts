/** Why a new password is refused. The pages have a text for each. */
export const PASSWORD_PROBLEMS = [
  'too_short',
  'too_long',
  'not_typeable',
  'common',
  'repeated',
  'sequence',
  'contains_name'
] as const

export type PasswordProblem = (typeof PASSWORD_PROBLEMS)[number]

export type PasswordRules = {
  /** A number of code points, `PASSWORD_MIN_LENGTH`. */
  minLength: number
  /** Words that an attacker tries first: the user name, the product name, the host of the issuer. */
  names: readonly string[]
  isCommon: (password: string) => boolean
}

/** The bytes are those of UTF-8. Longer passwords would only cost processor time: an attacker could send them to consume it. */
export const MAX_PASSWORD_BYTES = 1024
/** A unit below this length that is repeated is one guess. */
const SHORT_UNIT = 8
/** This much must remain of a password without the names in it. */
const LEFT_WITHOUT_NAMES = 8
/** Shorter names occur in other words. */
const SHORTEST_NAME = 3
/** A password of at most three sequences is one guess. */
const MOST_BREAKS = 2
const SEQUENCES = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn'
]

/**
 * Checks a new password (NIST SP 800-63B-4 §3.1.1.2): length and a blocklist, no rules about kinds of characters. Passwords that
 * exist are never checked.
 * @returns undefined if the password is good
 */
export function findPasswordProblem(given: string, rules: PasswordRules): PasswordProblem | undefined {
  const password = given.normalize('NFC')
  // The length is checked before anything that takes time in proportion to the length.
  if (new TextEncoder().encode(password).length > MAX_PASSWORD_BYTES) return 'too_long'
  // Forms that contain a control character are refused, so the password could not be used.
  if (/\p{Cc}/u.test(password)) return 'not_typeable'
  if ([...password].length < rules.minLength) return 'too_short'
  const folded = password.toLowerCase()
  if (rules.isCommon(password) || rules.isCommon(folded)) return 'common'
  const characters = [...folded]
  if (isRepeated(characters, rules.isCommon)) return 'repeated'
  if (isSequence(characters)) return 'sequence'
  return hasOnlyNames(folded, rules.names) ? 'contains_name' : undefined
}

/** Whether the password repeats a short unit or a common password; the last repetition may be incomplete. */
function isRepeated(characters: readonly string[], isCommon: (password: string) => boolean): boolean {
  for (let period = 1; period <= characters.length / 2; period++) {
    if (!characters.every((character, index) => character === characters[index % period])) continue
    return period < SHORT_UNIT || isCommon(characters.slice(0, period).join(''))
  }
  return false
}

/** Whether nearly every character is the neighbour of the one before, in the alphabet or on a keyboard. */
function isSequence(characters: readonly string[]): boolean {
  const breaks = characters.slice(1).filter((character, index) => !areNeighbours(`${characters[index]}${character}`))
  return breaks.length <= MOST_BREAKS
}

function areNeighbours(pair: string): boolean {
  const reversed = [...pair].reverse().join('')
  return SEQUENCES.some((sequence) => sequence.includes(pair) || sequence.includes(reversed))
}

/** Whether a name occurs in the password and the rest is short. Signs between the words do not count. */
function hasOnlyNames(folded: string, names: readonly string[]): boolean {
  const plain = lettersAndDigits(folded)
  const words = names.map((name) => lettersAndDigits(name.normalize('NFC').toLowerCase()))
  const left = words
    .filter((word) => [...word].length >= SHORTEST_NAME)
    // The longest first: one name may be a part of another.
    .sort((one, other) => other.length - one.length)
    .reduce((rest, word) => rest.replaceAll(word, ''), plain)
  return left !== plain && [...left].length < LEFT_WITHOUT_NAMES
}

const lettersAndDigits = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '')
