import { createHmac, timingSafeEqual } from 'node:crypto'

/** The browser that a form was shown to, and its session at that time. */
export type FormOwner = { browserId: string; sessionHash: string | undefined }

/** The value of the hidden field `csrf_token`. It is bound to the session, so a form shown to one user is invalid for another. */
export function createCsrfToken(keys: readonly string[], owner: FormOwner): string {
  return sign(keys[0] ?? '', owner)
}

/** Whether the token was made for this owner. Tokens of older keys stay valid while keys are rotated. */
export function isCsrfToken(value: string | undefined, keys: readonly string[], owner: FormOwner): boolean {
  if (value === undefined) return false
  const sent = Buffer.from(value)
  return keys.some((key) => {
    const expected = Buffer.from(sign(key, owner))
    return sent.length === expected.length && timingSafeEqual(sent, expected)
  })
}

function sign(key: string, owner: FormOwner): string {
  return createHmac('sha256', key)
    .update(`csrf_token\n${owner.browserId}\n${owner.sessionHash ?? ''}`)
    .digest('base64url')
}
