const MOST_ISSUER_CHARACTERS = 500
/** OpenID Connect Core 1.0 §2: a subject has at most 255 ASCII characters. */
const MOST_SUBJECT_CHARACTERS = 255

/** Control characters and lone surrogates, which Postgres cannot store or a list would show wrongly. */
const NO_TEXT = /[\p{Cc}\p{Cs}]/u

/**
 * Checks issuer and subject of an identity. Both are compared byte for byte, so they are neither trimmed nor normalized.
 * @returns what is wrong, or undefined
 */
export function problemOfIdentityKey({ issuer, subject }: { issuer: string; subject: string }): string | undefined {
  return problemOfIssuer(issuer) ?? problemOfSubject(subject)
}

export function problemOfIssuer(issuer: string): string | undefined {
  return isText(issuer, MOST_ISSUER_CHARACTERS)
    ? undefined
    : 'the issuer must have 1 to 500 characters, no control characters, and no space at its ends'
}

export function problemOfSubject(subject: string): string | undefined {
  return isText(subject, MOST_SUBJECT_CHARACTERS)
    ? undefined
    : 'the subject must have 1 to 255 characters, no control characters, and no space at its ends'
}

function isText(value: string, most: number): boolean {
  return value !== '' && value.length <= most && !NO_TEXT.test(value) && value.trim() === value
}
