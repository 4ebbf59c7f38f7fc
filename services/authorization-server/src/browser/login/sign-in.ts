import type { CanonicalName } from '@valetkey/sign-in-rules'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import { turnOf } from '../../platform/passwords/hashing-turn.js'
import { hashing, isOutdated, verification } from '../../platform/passwords/password.js'
import { type HashingTurn, type PasswordQueue, PasswordQueueFull } from '../../platform/passwords/password-queue.js'
import { type Limiter, type LimitReason, TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { type Limit, signInLimits } from '../../platform/rate-limits/rules.js'
import type { User, UserStore } from '../../storage/postgres/users.js'

export type SignInDeps = {
  users: Pick<UserStore, 'findForSignIn' | 'replacePasswordHash'>
  passwordQueue: Pick<PasswordQueue, 'run' | 'deadline'>
  limiter: Pick<Limiter, 'attempt'>
  audit: AuditTrail
  /** The hash of a random password, with the present hashing parameters. */
  decoyHash: () => Promise<string>
  /** The same UUID for the same account, which others cannot compute. */
  decoyAt: (account: CanonicalName) => string
}

/** @property client aborted when the client has gone */
export type SignInAttempt = { account: CanonicalName; password: string; knownBrowser: boolean; client: AbortSignal }

export type SignInResult =
  | { kind: 'signed_in'; user: User }
  | { kind: 'refused' }
  | { kind: 'not_evaluated'; reason: LimitReason; retryAfterSeconds: number }

/**
 * Checks a user name and password. Every refusal takes the same work and has the same result, so that neither time nor text
 * reveals whether an account exists. Only a wrong password is counted, not an attempt that an outage or a full queue ended.
 * @throws {PasswordQueueFull} when too many passwords are waiting to be checked
 */
export async function signIn(attempt: SignInAttempt, deps: SignInDeps, audited: AuditedRequest): Promise<SignInResult> {
  const { account, knownBrowser: isKnown, client } = attempt
  const turn = turnOf({ address: audited.ip, account, isKnown, client }, deps.passwordQueue)
  const evaluation = {
    limits: signInLimits(account, audited.ip, isKnown),
    isKnown,
    until: turn,
    evaluate: () => checkPassword(attempt, turn, deps)
  }
  return evaluateSignIn(evaluation, deps, audited)
}

type SignInEvaluation = {
  limits: readonly Limit[]
  isKnown: boolean
  until?: HashingTurn
  evaluate: () => Promise<CheckedSignIn>
}

/** Applies the limits, and records the result. @param reason of a success */
export async function evaluateSignIn(
  evaluation: SignInEvaluation,
  { limiter, audit }: Pick<SignInDeps, 'limiter' | 'audit'>,
  audited: AuditedRequest,
  reason?: string
): Promise<SignInResult> {
  try {
    const checked = await limiter.attempt({ ...evaluation, isFailure: ({ refusal }) => refusal !== undefined })
    if (checked.refusal !== undefined) {
      audit.record(audited, { event: 'sign_in_failed', userId: checked.user?.userId, reason: checked.refusal })
      return { kind: 'refused' }
    }
    audit.record(audited, { event: 'sign_in_succeeded', userId: checked.user.userId, reason })
    return { kind: 'signed_in', user: checked.user }
  } catch (error) {
    if (!(error instanceof TooManyAttempts)) throw error
    const { reason, retryAfterSeconds } = error
    audit.record(audited, { event: 'sign_in_failed', reason })
    return { kind: 'not_evaluated', reason, retryAfterSeconds }
  }
}

export type CheckedSignIn = { refusal: undefined; user: User } | { refusal: string; user: User | undefined }

async function checkPassword(
  { account, password }: SignInAttempt,
  turn: HashingTurn,
  deps: SignInDeps
): Promise<CheckedSignIn> {
  const { found, decoyHash } = await deps.users.findForSignIn(account, deps.decoyAt(account))
  // Always awaited, also if the user exists: the time must not reveal that.
  const ownDecoyHash = await deps.decoyHash()
  const compared = found?.passwordHash ?? decoyHash ?? ownDecoyHash
  const matches = await deps.passwordQueue.run(verification(compared, password), turn)
  if (found === undefined) return { refusal: 'unknown_user', user: undefined }
  const { user, passwordHash } = found
  if (passwordHash === undefined) return { refusal: 'no_password', user }
  if (!matches) return { refusal: 'wrong_password', user }
  if (user.disabled) return { refusal: 'disabled_user', user }
  if (isOutdated(passwordHash)) await renewHash({ found: { user, passwordHash }, password, turn }, deps)
  return { refusal: undefined, user }
}

type OutdatedHash = { found: { user: User; passwordHash: string }; password: string; turn: HashingTurn }

async function renewHash({ found, password, turn }: OutdatedHash, deps: SignInDeps): Promise<void> {
  try {
    const to = await deps.passwordQueue.run(hashing(password), turn)
    await deps.users.replacePasswordHash(found.user.userId, { from: found.passwordHash, to })
  } catch (error) {
    // The password is right. A later sign-in renews the hash.
    if (!(error instanceof PasswordQueueFull)) throw error
  }
}
