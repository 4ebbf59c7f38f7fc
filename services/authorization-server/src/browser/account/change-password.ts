import { type CanonicalName, canonicalName, type PasswordProblem } from '@valetkey/sign-in-rules'
import type { AuditEvent, AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import { turnOf } from '../../platform/passwords/hashing-turn.js'
import { type NewPasswordRules, problemOfNewPassword } from '../../platform/passwords/new-password.js'
import { hashing, verification } from '../../platform/passwords/password.js'
import type { HashingTurn, PasswordQueue } from '../../platform/passwords/password-queue.js'
import { type Limiter, type LimitReason, TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { signInLimits } from '../../platform/rate-limits/rules.js'
import type { OwnSessionStore } from '../../storage/postgres/own-sessions.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { SignedIn } from '../session/session-plugin.js'

export type ChangePasswordDeps = {
  users: Pick<UserStore, 'findWithPassword'>
  ownSessions: Pick<OwnSessionStore, 'changePassword'>
  passwordQueue: Pick<PasswordQueue, 'run' | 'deadline'>
  passwordRules: NewPasswordRules
  limiter: Pick<Limiter, 'attempt'>
  audit: AuditTrail
}

export type PasswordChange = {
  user: SignedIn
  /** Whether the user has just signed in: then the current password is not needed. */
  isFresh: boolean
  currentPassword: string
  newPassword: string
  /** Aborted when the client has gone. */
  client: AbortSignal
}

export type PasswordChangeResult =
  | { kind: 'changed'; user: User }
  | { kind: 'bad_password'; problem: PasswordProblem }
  | { kind: 'wrong_current_password' }
  /**
   * The user signs in at a provider or login page, which may refuse former members. A password would go around it, so only an
   * operator gives the first one, by a link.
   */
  | { kind: 'no_password' }
  | { kind: 'session_ended' }
  | { kind: 'not_evaluated'; reason: LimitReason; retryAfterSeconds: number }

/**
 * Sets a new password for the signed-in user and ends all sessions. A wrong current password counts as a failed sign-in.
 * @throws {PasswordQueueFull} when too many passwords are waiting; then nothing is changed
 */
export async function changePassword(
  change: PasswordChange,
  deps: ChangePasswordDeps,
  audited: AuditedRequest
): Promise<PasswordChangeResult> {
  const { user, isFresh, newPassword } = change
  const { users, ownSessions, passwordQueue, passwordRules, audit } = deps
  const account = canonicalName(user.username)
  const turn = turnOf({ address: audited.ip, account, isKnown: true, client: change.client }, passwordQueue)
  const record = (event: AuditEvent['event'], reason: string) =>
    audit.record(audited, { event, userId: user.userId, reason })
  const passwordHash = (await users.findWithPassword(account))?.passwordHash
  if (passwordHash === undefined) return { kind: 'no_password' }
  // The new password is checked before the current one, which costs time to check.
  const problem = await problemOfNewPassword(newPassword, user.username, passwordRules)
  if (problem !== undefined) return { kind: 'bad_password', problem }
  if (!isFresh) {
    const check = () => passwordQueue.run(verification(passwordHash, change.currentPassword), turn)
    const result = await limited(check, account, turn, audited, deps)
    if (result !== 'right') {
      record('password_change_refused', result === 'wrong' ? 'wrong_password' : result.reason)
      return result === 'wrong' ? { kind: 'wrong_current_password' } : { kind: 'not_evaluated', ...result }
    }
  }
  const newHash = await passwordQueue.run(hashing(newPassword), turn)
  const changed = await ownSessions.changePassword(user, newHash)
  if (changed === undefined) return { kind: 'session_ended' }
  record('password_changed', isFresh ? 'fresh' : 'current_password')
  return { kind: 'changed', user: changed }
}

type Limited = 'right' | 'wrong' | { reason: LimitReason; retryAfterSeconds: number }

/** The limits of sign-in, as for a browser that knows the account: it has a session. */
async function limited(
  check: () => Promise<boolean>,
  account: CanonicalName,
  turn: HashingTurn,
  { ip }: AuditedRequest,
  { limiter }: ChangePasswordDeps
): Promise<Limited> {
  try {
    const isRight = await limiter.attempt({
      limits: signInLimits(account, ip, true),
      isKnown: true,
      until: turn,
      evaluate: check,
      isFailure: (right) => !right
    })
    return isRight ? 'right' : 'wrong'
  } catch (error) {
    if (!(error instanceof TooManyAttempts)) throw error
    return { reason: error.reason, retryAfterSeconds: error.retryAfterSeconds }
  }
}
