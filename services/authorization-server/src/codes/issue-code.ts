import { randomUUID } from 'node:crypto'
import {
  type AuthorizationRequest,
  digestToken,
  mintOpaqueToken,
  type RandomBytes,
  type TokenDigest
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../audit/audit-trail.js'
import type { CodeStore } from '../storage/codes.js'
import type { GrantStore } from '../storage/grants.js'
import type { NewGrant } from '../storage/open-grant.js'

export type IssueCodeDeps = {
  grants: Pick<GrantStore, 'open'>
  codes: Pick<CodeStore, 'put'>
  audit: AuditTrail
  /** Seconds. */
  codeTtl: number
  now: () => Date
  randomBytes: RandomBytes
}

/** A grant that is not redeemed leaves this long after its code: later nobody can ask for the code any more. */
const UNREDEEMED_GRANT_MS = 10 * 60_000

/** Who allows what: the user of a session, by a consent given just now or remembered from before. */
export type Allowed = Pick<NewGrant, 'userId' | 'userGeneration' | 'sessionGeneration' | 'scope' | 'consent'>

export type IssuedCode = { code: string; codeDigest: TokenDigest }

/**
 * Opens the grant and issues its code (RFC 6749 §4.1.2).
 * @param seal makes of the code what a second sending of the same form is answered with; undefined where there is no form
 * @returns undefined when the session or the client has ended a moment ago, or the consent that is relied on is not there
 */
export async function issueCode(
  request: AuthorizationRequest,
  allowed: Allowed,
  deps: IssueCodeDeps,
  audited: AuditedRequest,
  seal?: (code: string) => Buffer
): Promise<IssuedCode | undefined> {
  const { clientId, redirectUri, codeChallenge, audience } = request
  const { userId, userGeneration, sessionGeneration, scope, consent } = allowed
  const code = mintOpaqueToken('authorizationCode', deps.randomBytes)
  const codeDigest = digestToken(code)
  const grantId = randomUUID()
  const createdAt = deps.now()
  const expiresAt = new Date(createdAt.getTime() + deps.codeTtl * 1000 + UNREDEEMED_GRANT_MS)
  // The grant first: a code without a grant could be taken and not redeemed; a grant without a code leaves by itself.
  const opened = await deps.grants.open({
    grantId,
    clientId,
    userId,
    userGeneration,
    sessionGeneration,
    scope,
    consent,
    audience,
    redirectUri,
    codeChallenge,
    codeDigest,
    createdAt,
    expiresAt
  })
  if (!opened) return undefined
  const binding = { clientId, redirectUri, codeChallenge, audience }
  await deps.codes.put(codeDigest, { grantId, binding, sealedAnswer: seal?.(code) }, deps.codeTtl * 1000)
  deps.audit.record(audited, { event: 'code_issued', clientId, userId, grantId, scope })
  return { code, codeDigest }
}
