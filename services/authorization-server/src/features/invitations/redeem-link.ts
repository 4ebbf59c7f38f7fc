import { canonicalName, type PasswordProblem } from '@valetkey/sign-in-rules'
import type { AuditedRequest } from '../../platform/audit/audit-trail.js'
import { turnOf } from '../../platform/passwords/hashing-turn.js'
import { problemOfNewPassword } from '../../platform/passwords/new-password.js'
import { hashing } from '../../platform/passwords/password.js'
import { type LimitReason, TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { accountLinkLimit } from '../../platform/rate-limits/rules.js'
import type { User } from '../../storage/postgres/users.js'
import type { AccountLinkDeps } from './account-link-deps.js'
import type { AccountLink } from './account-link-store.js'

export type FoundLink =
  | { kind: 'found'; link: AccountLink }
  /** Unknown, used or expired, or its user is disabled. */
  | { kind: 'unknown' }
  | { kind: 'not_evaluated'; reason: LimitReason; retryAfterSeconds: number }

/**
 * Looks a link up and changes nothing. Links that are not found are counted for each address, so tokens cannot be guessed. A
 * missing token is no guess: images on another site could cause such requests from the address of a victim.
 */
export async function findLink(
  tokenHash: Buffer | undefined,
  { accountLinks, limiter, audit }: Pick<AccountLinkDeps, 'accountLinks' | 'limiter' | 'audit'>,
  audited: AuditedRequest
): Promise<FoundLink> {
  try {
    const link = await (tokenHash &&
      limiter.attempt({
        limits: [accountLinkLimit(audited.ip)],
        isKnown: false,
        evaluate: () => accountLinks.find(tokenHash),
        isFailure: (found) => found === undefined
      }))
    if (link !== undefined) return { kind: 'found', link }
    audit.record(audited, { event: 'account_link_refused', reason: 'unknown_link' })
    return { kind: 'unknown' }
  } catch (error) {
    if (!(error instanceof TooManyAttempts)) throw error
    audit.record(audited, { event: 'account_link_refused', reason: error.reason })
    return { kind: 'not_evaluated', reason: error.reason, retryAfterSeconds: error.retryAfterSeconds }
  }
}

export type RedeemedLink =
  | { kind: 'redeemed'; user: User }
  | { kind: 'bad_password'; problem: PasswordProblem }
  | { kind: 'unknown' }

/**
 * Sets the password with a link that was found. The link is used up only if the password is good.
 * @throws {PasswordQueueFull} when too many passwords are waiting; then the link is not used up
 */
export async function redeemLink(
  {
    link,
    tokenHash,
    password,
    endsAccess,
    client
  }: { link: AccountLink; tokenHash: Buffer; password: string; endsAccess: boolean; client: AbortSignal },
  deps: Pick<AccountLinkDeps, 'accountLinks' | 'passwordQueue' | 'passwordRules' | 'audit'>,
  audited: AuditedRequest
): Promise<RedeemedLink> {
  const { accountLinks, passwordQueue, passwordRules, audit } = deps
  const { user, purpose } = link
  const problem = await problemOfNewPassword(password, user.username, passwordRules)
  if (problem !== undefined) return { kind: 'bad_password', problem }
  const account = canonicalName(user.username)
  const turn = turnOf({ address: audited.ip, account, isKnown: true, client }, passwordQueue)
  const passwordHash = await passwordQueue.run(hashing(password), turn)
  const redeemed = await accountLinks.redeem(tokenHash, { passwordHash, endsAccess })
  if (redeemed === undefined) {
    audit.record(audited, { event: 'account_link_refused', userId: user.userId, reason: 'unknown_link' })
    return { kind: 'unknown' }
  }
  audit.record(audited, { event: 'account_link_used', userId: user.userId, reason: purpose })
  if (endsAccess)
    audit.record(audited, { event: 'grant_ended', userId: user.userId, reason: 'ended_with_password_reset' })
  return { kind: 'redeemed', user: redeemed }
}
