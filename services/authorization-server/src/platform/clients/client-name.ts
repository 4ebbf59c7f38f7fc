/** Control characters and lone surrogates. */
export const NO_TEXT = /[\p{Cc}\p{Cs}]/u

/** Some letters and one sign are as empty as a space: fillers of Hangul, Braille without dots. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u

/** More than four marks on one letter would cover the text around it (UTS #39 §5.4). */
const MARKS = /[\p{Mn}\p{Me}]{5}/u

/** With these, a name can look like another name or change the text next to it (Unicode TR 36 §2.3). */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/

const LONGEST_NAME = 100

type NameOutcome = { kind: 'name'; name: string } | { kind: 'malformed' | 'text_direction' }

/** Trims a display name. It needs 1 to `longest` characters, at least one of them visible. */
export function readName(given: string, longest = LONGEST_NAME): NameOutcome {
  const name = given.normalize('NFC').trim()
  if (name.length > longest || NO_TEXT.test(name) || !VISIBLE.test(name)) return { kind: 'malformed' }
  if (MARKS.test(name.replace(/\p{Cf}/gu, ''))) return { kind: 'malformed' }
  return BIDI_CONTROL.test(name) ? { kind: 'text_direction' } : { kind: 'name', name }
}
