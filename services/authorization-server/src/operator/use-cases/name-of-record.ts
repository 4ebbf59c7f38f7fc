import { AdministrationError } from './administration-error.js'

/** Control characters and lone surrogates. */
export const NO_TEXT = /[\p{Cc}\p{Cs}]/u

const VISIBLE = /[^\p{C}\p{Z}]/u

/** With these, a name can look like another name or change the text next to it (Unicode TR 36 §2.3). */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/

/** Trims a display name and requires 1 to 100 characters, at least one of them visible. */
export function requireName(given: string, what = 'a name'): string {
  const name = given.normalize('NFC').trim()
  if (name.length > 100 || NO_TEXT.test(name) || !VISIBLE.test(name)) {
    const rule = 'must have 1 to 100 characters, at least one of them visible, and no control characters'
    throw new AdministrationError('invalid', `${what} ${rule}`)
  }
  if (BIDI_CONTROL.test(name)) {
    throw new AdministrationError('invalid', `${what} must not contain characters that change the text direction`)
  }
  return name
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether this is a UUID. A query for anything else would be an error of Postgres. */
export function isRecordId(given: string): boolean {
  return UUID.test(given)
}
