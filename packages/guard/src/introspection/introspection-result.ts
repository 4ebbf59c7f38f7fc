import { type AuthorizationDetail, readAuthorizationDetails } from './authorization-details.js'

/** An introspection response (RFC 7662 §2.2). The RFC requires only `active`. */
export type IntrospectionResult = { active: false } | ActiveResult

export type ActiveResult = {
  active: true
  scope: ReadonlySet<string>
  audience: readonly string[]
  subject: string | undefined
  clientId: string | undefined
  issuer: string | undefined
  tokenType: string | undefined
  expiresAt: Date | undefined
  /** The `Date` of the response: the authorization server's clock, to the second; undefined without the header. */
  respondedAt?: Date | undefined
  /** When this process got the response, by `performance.now()`. Only with `authenticatedAt`. */
  receivedAt?: number
  /** `auth_time` (RFC 9470 §6.2): when the user signed in for this token. Absent if the server does not say it. */
  authenticatedAt?: Date
  /** The ids of the token (`jti`) and its grant, to which revocation events refer. */
  tokenId: string | undefined
  grantId: string | undefined
  /** Bound to a key by `cnf` (RFC 8705 §3.2, RFC 9449 §6.2), so not valid as a bearer token. */
  isSenderConstrained: boolean
  /** Of the key that the token is bound to (RFC 9449 §6.2). Absent unless that is the only binding. */
  keyThumbprint?: string
  /** `authorization_details` (RFC 9396 §9.2): what the user chose. Absent if there are none. */
  authorizationDetails?: readonly AuthorizationDetail[]
}

/**
 * Parses an introspection response strictly: with a member of the wrong type, the whole response is unreadable, because a guess
 * might accept an invalid token.
 * @returns undefined if it is unreadable, so nothing is known about the token
 */
export function parseIntrospectionResult(body: string): IntrospectionResult | undefined {
  return readResult(parseJson(body))
}

/**
 * Parses the results for several tokens: a list with one result for each token.
 * @returns undefined if it is no such list; an unreadable result in the list is undefined
 */
export function parseIntrospectionResults(
  body: string,
  count: number
): readonly (IntrospectionResult | undefined)[] | undefined {
  const list = parseJson(body)
  return Array.isArray(list) && list.length === count ? list.map(readResult) : undefined
}

function readResult(value: unknown): IntrospectionResult | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const members: Members = value
  if (typeof members.active !== 'boolean') return undefined
  if (!members.active) return { active: false }

  const { aud, exp, cnf, auth_time: authTime } = members
  const audience = aud === undefined ? [] : Array.isArray(aud) ? aud : [aud]
  const isReadable =
    TEXT_MEMBERS.every((name) => members[name] === undefined || typeof members[name] === 'string') &&
    audience.every((item) => typeof item === 'string') &&
    (exp === undefined || isInstant(exp))
  const details = readAuthorizationDetails(members.authorization_details)
  if (!isReadable || details === undefined) return undefined

  const text = (name: (typeof TEXT_MEMBERS)[number]) => members[name] as string | undefined
  return {
    active: true,
    scope: new Set((text('scope') ?? '').split(' ').filter((token) => token !== '')),
    audience,
    subject: text('sub'),
    clientId: text('client_id'),
    issuer: text('iss'),
    tokenType: text('token_type'),
    expiresAt: exp === undefined ? undefined : new Date(exp * 1000),
    tokenId: text('jti'),
    grantId: text('grant_id'),
    isSenderConstrained: cnf !== undefined,
    ...details,
    ...(cnf !== undefined && readConfirmation(cnf)),
    // As if absent if it is no time, because few APIs need it. Absent, it is never recent enough.
    ...(isInstant(authTime) && { authenticatedAt: new Date(authTime * 1000) })
  }
}

/** A second member, such as the hash of a certificate, is a binding that the guard cannot check. */
function readConfirmation(cnf: unknown): { keyThumbprint: string } | false {
  if (typeof cnf !== 'object' || cnf === null || Object.keys(cnf).join() !== 'jkt') return false
  const { jkt } = cnf as { jkt: unknown }
  return typeof jkt === 'string' && { keyThumbprint: jkt }
}

const TEXT_MEMBERS = ['scope', 'sub', 'client_id', 'iss', 'token_type', 'jti', 'grant_id'] as const
type Members = Partial<Record<(typeof TEXT_MEMBERS)[number] | OtherMember, unknown>>
type OtherMember = 'active' | 'aud' | 'exp' | 'cnf' | 'auth_time' | 'authorization_details'

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Seconds since 1970 within the range of `Date`. */
function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e12
}
