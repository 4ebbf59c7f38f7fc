import { createTextMac, isTextMac } from '@valetkey/oauth-protocol'

/** The browser that a form was shown to, and its session at that time. */
export type FormOwner = { browserId: string; sessionHash: string | undefined }

/** The value of the hidden field `csrf_token`. It is bound to the session, so a form shown to one user is invalid for another. */
export function createCsrfToken(keys: readonly string[], owner: FormOwner): string {
  return createTextMac(keys, textOf(owner))
}

/** Whether the token was made for this owner. Tokens of older keys stay valid while keys are rotated. */
export function isCsrfToken(value: string | undefined, keys: readonly string[], owner: FormOwner): boolean {
  return value !== undefined && isTextMac(value, keys, textOf(owner))
}

function textOf({ browserId, sessionHash }: FormOwner): string {
  return `csrf_token\n${browserId}\n${sessionHash ?? ''}`
}
