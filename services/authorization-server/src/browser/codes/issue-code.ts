import {
  type AuthorizationRequest,
  type CodeBinding,
  hashToken,
  newOpaqueToken,
  type RandomBytes,
  type TokenHash
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { AllowedScope } from '../../storage/postgres/consents.js'
import type { AllowedGrant, AuthorizationDetail, CodeStore } from '../../storage/redis/codes.js'

export type IssueCodeDeps = {
  codes: Pick<CodeStore, 'put'>
  audit: AuditTrail
  /** Seconds. */
  codeTtl: number
  randomBytes: RandomBytes
}

/** What the user allowed, by a consent given now or remembered from before. */
export type Allowed = {
  userId: string
  /** When the user signed in, in milliseconds since 1970. Undefined unless the API of the request asks for it. */
  authenticatedAt: number | undefined
  /** What the user chose at the API, for a scope that selects. */
  authorizationDetails?: readonly AuthorizationDetail[] | undefined
} & AllowedScope

export type IssuedCode = { code: string; codeHash: TokenHash }

/**
 * Issues an authorization code (RFC 6749 §4.1.2). It is stored in Redis only, so a code that is never exchanged leaves
 * nothing in Postgres.
 * @param encrypt makes of the code the encrypted redirect for a second Allow; undefined if no form was sent
 */
export async function issueCode(
  { clientId, redirectUri, codeChallenge, audience, dpopJkt }: AuthorizationRequest,
  allowed: Allowed,
  deps: IssueCodeDeps,
  audited: AuditedRequest,
  encrypt?: (code: string) => Buffer
): Promise<IssuedCode> {
  const code = newOpaqueToken('authorizationCode', deps.randomBytes)
  const codeHash = hashToken(code)
  const binding = { clientId, redirectUri, codeChallenge, audience, dpopJkt }
  const { userId, scope } = allowed
  await deps.codes.put(
    codeHash,
    { allowed: recordOf(allowed, binding), encryptedRedirect: encrypt?.(code) },
    deps.codeTtl * 1000
  )
  deps.audit.record(audited, { event: 'code_issued', clientId, userId, scope })
  return { code, codeHash }
}

/** Member by member, because what the caller has more must not get into the record. */
function recordOf(allowed: Allowed, binding: CodeBinding): AllowedGrant {
  const { userId, scope, newestScope, authenticatedAt, endsAt, authorizationDetails } = allowed
  const { userGeneration, clientGeneration, authorizationGeneration } = allowed
  const generations = { userGeneration, clientGeneration, authorizationGeneration }
  return { userId, ...generations, scope, newestScope, binding, authenticatedAt, endsAt, authorizationDetails }
}
