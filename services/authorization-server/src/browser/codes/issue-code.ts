import {
  type AuthorizationRequest,
  digestToken,
  mintOpaqueToken,
  type RandomBytes,
  type TokenDigest
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { Allowance, AllowanceStore } from '../../storage/postgres/allowances.js'
import type { CodeStore } from '../../storage/redis/codes.js'

export type IssueCodeDeps = {
  allowances: AllowanceStore
  codes: Pick<CodeStore, 'put'>
  audit: AuditTrail
  /** Seconds. */
  codeTtl: number
  randomBytes: RandomBytes
}

/** Who allows what: the user of a session, by a consent given just now or remembered from before. */
export type Allowed = Omit<Allowance, 'clientId'>

export type IssuedCode = { code: string; codeDigest: TokenDigest }

/**
 * Issues an authorization code (RFC 6749 4.1.2). Only Redis knows it until it is exchanged: a code that is never exchanged
 * leaves nothing behind.
 * @param encrypt makes of the code what a second sending of the same form is answered with; undefined where there is no form
 * @returns undefined when the session or the client has ended a moment ago, or the remembered consent does not cover the scope
 */
export async function issueCode(
  request: AuthorizationRequest,
  { userId, userGeneration, sessionGeneration, scope, consent }: Allowed,
  deps: IssueCodeDeps,
  audited: AuditedRequest,
  encrypt?: (code: string) => Buffer
): Promise<IssuedCode | undefined> {
  const { clientId, redirectUri, codeChallenge, audience } = request
  const allowance = { userId, userGeneration, sessionGeneration, clientId, scope, consent }
  const generations = await deps.allowances.read(allowance)
  if (generations === undefined) return undefined
  const code = mintOpaqueToken('authorizationCode', deps.randomBytes)
  const codeDigest = digestToken(code)
  const binding = { clientId, redirectUri, codeChallenge, audience }
  const allowed = { userId, userGeneration, ...generations, scope, binding }
  await deps.codes.put(codeDigest, { allowed, encryptedRedirect: encrypt?.(code) }, deps.codeTtl * 1000)
  deps.audit.record(audited, { event: 'code_issued', clientId, userId, scope })
  return { code, codeDigest }
}
