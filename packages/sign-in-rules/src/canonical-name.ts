import { foldCase } from './fold-case.js'

declare const canonical: unique symbol

/** A user name in its canonical form. Names with the same canonical form are names of the same user. */
export type CanonicalName = string & { readonly [canonical]: true }

/** Printable ASCII without space: the canonical form is the lower case. */
const PLAIN = /^[!-~]*$/

/**
 * The canonical form of a user name, in which names are unique, looked up and counted. Every text has one, also a text that is
 * refused as a new name.
 *
 * It is the compatibility caseless form of Unicode (§3.13, D146: NFKC and full case folding), trimmed, with one space between words
 * (RFC 8265 §3.1). Names that are equal in the profile UsernameCaseMapped (RFC 8265 §3.3) are equal here. Differences:
 * - Case folding, where the profile prefers the lower case: `STRASSE` and `straße`, and all forms of sigma, are equal.
 * - NFKC, where the profile has width mapping and NFC: it refuses the other compatibility characters.
 * - Characters that are not shown are left out, as in NFKC_Casefold of Unicode: the profile refuses most of them.
 * - The Bidi Rule is not applied: it refuses names such as an Arabic word with `@example.org`. A new name has no characters that
 *   change the direction of text (`problemOfUserName`).
 */
export function canonicalName(name: string): CanonicalName {
  if (PLAIN.test(name)) return name.toLowerCase() as CanonicalName
  const folded = foldCase(name.normalize('NFD').replace(/\p{DI}/gu, '')).normalize('NFKC')
  // NFKC can make characters that case folding changes.
  const again = foldCase(folded).normalize('NFKC')
  return again.replace(/\s+/gu, ' ').trim() as CanonicalName
}

/** These are not shown. The two joiners are parts of words in several languages (RFC 5892 A.1, A.2), and only there. */
const NOT_SHOWN =
  /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{DI}|(?<![\p{L}\p{M}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}])/u
/** These have no meaning in Unicode: the canonical form of a name with them can be another one in the next version. */
const UNASSIGNED = /[\p{Cn}\p{Co}\p{Cs}]/u

/** @property character as `U+200B`; a name of nothing but such characters is not accepted either */
export type UserNameProblem = { kind: 'not_shown' | 'unassigned'; character: string } | { kind: 'too_long' }

/** NFKC makes up to 18 characters of one. The longer form would not fit into an entry of an index. */
const LONGEST_FORM = 300

/**
 * Why a text cannot be a new user name. Of what UsernameCaseMapped refuses, that which is not seen: control and ignorable
 * characters (RFC 8264 §9.12, §9.13) and unassigned ones (§9.10). Signs and words with a space are accepted: names of other
 * systems have them. Only new names are checked.
 */
export function problemOfUserName(name: string): UserNameProblem | undefined {
  for (const [kind, pattern] of [
    ['not_shown', NOT_SHOWN],
    ['unassigned', UNASSIGNED]
  ] as const) {
    const [found] = pattern.exec(name) ?? []
    if (found !== undefined) return { kind, character: named(found) }
  }
  return canonicalName(name).length > LONGEST_FORM ? { kind: 'too_long' } : undefined
}

function named(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
