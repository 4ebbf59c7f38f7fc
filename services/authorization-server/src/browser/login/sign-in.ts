import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { HashingTurn } from '../../platform/passwords/hashing-order.js'
import { hashPassword, isOutdated, verifyPassword } from '../../platform/passwords/password.js'
import { type PasswordQueue, PasswordQueueFull } from '../../platform/passwords/password-queue.js'
import { addressGroup, addressNetwork } from '../../platform/rate-limits/address-group.js'
import { type Limiter, type LimitReason, TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { signInLimits } from '../../platform/rate-limits/rules.js'
import type { User, UserStore } from '../../storage/postgres/users.js'

export type SignInDeps = {
  users: Pick<UserStore, 'findWithPassword' | 'replacePasswordHash'>
  passwordQueue: Pick<PasswordQueue, 'run'>
  limiter: Pick<Limiter, 'attempt'>
  audit: AuditTrail
  /** The hash of a password that nobody has, made with the parameters in force when it is first asked for. */
  decoyHash: () => Promise<string>
}

export type SignInAttempt = { account: string; password: string; knownBrowser: boolean }

export type SignInResult =
  | { kind: 'signed_in'; user: User }
  | { kind: 'refused' }
  | { kind: 'not_evaluated'; reason: LimitReason; retryAfterSeconds: number }

/** The account as it was typed, in the form in which it is compared and counted. */
export function toAccount(username: string): string {
  return username.normalize('NFC').trim()
}

/**
 * Checks a user name and password. Whatever is wrong, the same work is done and the same answer given. Only an attempt that
 * was judged and is wrong is counted: after an outage or with a full queue there is no result that could tell anything.
 * @throws {PasswordQueueFull} when too many others are being checked
 */
export async function signIn(attempt: SignInAttempt, deps: SignInDeps, audited: AuditedRequest): Promise<SignInResult> {
  const turn = {
    network: addressNetwork(audited.ip),
    group: addressGroup(audited.ip),
    isKnown: attempt.knownBrowser
  }
  const judging = {
    limits: signInLimits(attempt.account, audited.ip, attempt.knownBrowser),
    isKnown: attempt.knownBrowser,
    judge: () => judge(attempt, turn, deps),
    isFailure: ({ refusal }: Judged) => refusal !== undefined
  }
  try {
    const judged = await deps.limiter.attempt(judging)
    if (judged.refusal !== undefined) {
      deps.audit.record(audited, { event: 'sign_in_failed', userId: judged.user?.userId, reason: judged.refusal })
      return { kind: 'refused' }
    }
    deps.audit.record(audited, { event: 'sign_in_succeeded', userId: judged.user.userId })
    return { kind: 'signed_in', user: judged.user }
  } catch (error) {
    if (!(error instanceof TooManyAttempts)) throw error
    const { reason, retryAfterSeconds } = error
    deps.audit.record(audited, { event: 'sign_in_failed', reason })
    return { kind: 'not_evaluated', reason, retryAfterSeconds }
  }
}

type Judged = { refusal: undefined; user: User } | { refusal: string; user: User | undefined }

async function judge({ account, password }: SignInAttempt, turn: HashingTurn, deps: SignInDeps): Promise<Judged> {
  const found = await deps.users.findWithPassword(account)
  // Whoever comes first waits until there is a decoy, whether it is needed or not: the time must not tell.
  const decoyHash = await deps.decoyHash()
  const matches = await deps.passwordQueue.run(() => verifyPassword(found?.passwordHash ?? decoyHash, password), turn)
  if (found === undefined) return { refusal: 'unknown_user', user: undefined }
  if (!matches) return { refusal: 'wrong_password', user: found.user }
  if (found.user.disabled) return { refusal: 'disabled_user', user: found.user }
  if (isOutdated(found.passwordHash)) await renewHash({ found, password, turn }, deps)
  return { refusal: undefined, user: found.user }
}

type RightPassword = { found: { user: User; passwordHash: string }; password: string; turn: HashingTurn }

async function renewHash({ found, password, turn }: RightPassword, deps: SignInDeps): Promise<void> {
  try {
    const to = await deps.passwordQueue.run(() => hashPassword(password), turn)
    await deps.users.replacePasswordHash(found.user.userId, { from: found.passwordHash, to })
  } catch (error) {
    // The password was right; its hash is renewed at a quieter sign-in.
    if (!(error instanceof PasswordQueueFull)) throw error
  }
}
