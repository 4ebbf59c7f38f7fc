import { AdministrationError } from './administration-error.js'

const LANGUAGE = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/

/** @throws {AdministrationError} `invalid`, unless this has the form of a language tag (RFC 5646 §2.1) */
export function requireLanguageTag(language: string): void {
  if (LANGUAGE.test(language)) return
  throw new AdministrationError('invalid', `${JSON.stringify(language)} is not a language tag, such as de or pt-BR`)
}
