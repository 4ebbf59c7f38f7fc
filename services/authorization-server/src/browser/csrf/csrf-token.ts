import { createHmac, timingSafeEqual } from 'node:crypto'

/** Whom a form was made for: this browser, and the session it had when the form was shown. */
export type FormOwner = { browserId: string; sessionDigest: string | undefined }

/** The value of the hidden field `csrf_token`. Bound to the session too: a form shown to one user serves no other. */
export function createCsrfToken(keys: readonly string[], owner: FormOwner): string {
  return sign(keys[0] ?? '', owner)
}

/** Whether a form came from a page that this browser was shown. Older keys still verify while keys are rotated. */
export function isCsrfToken(value: string | undefined, keys: readonly string[], owner: FormOwner): boolean {
  if (value === undefined) return false
  const given = Buffer.from(value)
  return keys.some((key) => {
    const expected = Buffer.from(sign(key, owner))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

function sign(key: string, owner: FormOwner): string {
  return createHmac('sha256', key)
    .update(`csrf_token\n${owner.browserId}\n${owner.sessionDigest ?? ''}`)
    .digest('base64url')
}
