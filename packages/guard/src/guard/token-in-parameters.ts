import { carriesAccessToken } from '@valetkey/oauth-protocol'

/** Whether a parsed query or form has a token. An empty parameter counts as absent (RFC 6749 §3.1). */
export function hasTokenMember(parsed: unknown): boolean {
  if (typeof parsed !== 'object' || parsed === null || !('access_token' in parsed)) return false
  return parsed.access_token !== undefined && parsed.access_token !== ''
}

/** @param form parsed, or as text or bytes */
export function hasTokenInForm(form: unknown): boolean {
  if (typeof form === 'string' || Buffer.isBuffer(form)) return carriesAccessToken(form.toString('latin1'))
  return hasTokenMember(form)
}

/** Only a form can carry a token (RFC 6750 §2.2); `access_token` in a JSON body belongs to the API. */
export function isForm(contentType: string | undefined): boolean {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  return mediaType === 'application/x-www-form-urlencoded'
}
