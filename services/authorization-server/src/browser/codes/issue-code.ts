import {
  type AuthorizationRequest,
  hashToken,
  newOpaqueToken,
  type RandomBytes,
  type TokenHash
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { AllowedScope } from '../../storage/postgres/consents.js'
import type { CodeStore } from '../../storage/redis/codes.js'

export type IssueCodeDeps = {
  codes: Pick<CodeStore, 'put'>
  audit: AuditTrail
  /** Seconds. */
  codeTtl: number
  randomBytes: RandomBytes
}

/** What the user allowed, by a consent given now or remembered from before. */
export type Allowed = { userId: string } & AllowedScope

export type IssuedCode = { code: string; codeHash: TokenHash }

/**
 * Issues an authorization code (RFC 6749 §4.1.2). It is stored in Redis only, so a code that is never exchanged leaves
 * nothing in Postgres.
 * @param encrypt makes of the code the encrypted redirect for a second Allow; undefined if no form was sent
 */
export async function issueCode(
  { clientId, redirectUri, codeChallenge, audience }: AuthorizationRequest,
  { userId, userGeneration, clientGeneration, authorizationGeneration, scope, newestScope }: Allowed,
  deps: IssueCodeDeps,
  audited: AuditedRequest,
  encrypt?: (code: string) => Buffer
): Promise<IssuedCode> {
  const code = newOpaqueToken('authorizationCode', deps.randomBytes)
  const codeHash = hashToken(code)
  const binding = { clientId, redirectUri, codeChallenge, audience }
  const allowed = { userId, userGeneration, clientGeneration, authorizationGeneration, scope, newestScope, binding }
  await deps.codes.put(codeHash, { allowed, encryptedRedirect: encrypt?.(code) }, deps.codeTtl * 1000)
  deps.audit.record(audited, { event: 'code_issued', clientId, userId, scope })
  return { code, codeHash }
}
