import { nameProblem } from '@valetkey/oauth-protocol'

/** Control characters and lone surrogates. */
export const NO_TEXT = /[\p{Cc}\p{Cs}]/u

/** With these, a name can look like another name or change the text next to it (Unicode TR 36 §2.3). */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/

const LONGEST_NAME = 100

type NameOutcome = { kind: 'name'; name: string } | { kind: 'malformed' | 'text_direction' }

/** Trims a display name. It needs 1 to `longest` characters, at least one of them visible. */
export function readName(given: string, longest = LONGEST_NAME): NameOutcome {
  const name = given.normalize('NFC').trim()
  if (name.length > longest || NO_TEXT.test(name) || nameProblem(name) !== undefined) return { kind: 'malformed' }
  return BIDI_CONTROL.test(name) ? { kind: 'text_direction' } : { kind: 'name', name }
}
