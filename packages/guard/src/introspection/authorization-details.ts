/** What the user chose for a token (RFC 9396 §2). The members of a type belong to the API that defines it. */
export type AuthorizationDetail = {
  readonly type: string
  readonly identifier?: string
  readonly [member: string]: unknown
}

/** Of tokens without details: no object is made for them. */
const NONE = {}

/**
 * Reads `authorization_details` of an introspection response (RFC 9396 §9.2).
 * @returns the member of a result, which is absent without details; undefined if the value is malformed
 */
export function readAuthorizationDetails(
  value: unknown
): { authorizationDetails?: readonly AuthorizationDetail[] } | undefined {
  if (value === undefined) return NONE
  if (!Array.isArray(value) || !value.every(isDetail)) return undefined
  return value.length === 0 ? NONE : { authorizationDetails: value }
}

function isDetail(value: unknown): value is AuthorizationDetail {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { type, identifier } = value as { type?: unknown; identifier?: unknown }
  return typeof type === 'string' && (identifier === undefined || typeof identifier === 'string')
}
