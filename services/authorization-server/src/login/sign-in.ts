import type { AuditedRequest, AuditTrail } from '../audit/audit-trail.js'
import { type Limiter, TooManyAttempts } from '../limits/limiter.js'
import { signInLimits } from '../limits/rules.js'
import { hashPassword, isOutdated, verifyPassword } from '../passwords/password.js'
import { type PasswordQueue, PasswordQueueFull } from '../passwords/password-queue.js'
import type { User, UserStore } from '../storage/users.js'

export type SignInDeps = {
  users: Pick<UserStore, 'findWithPassword' | 'replacePasswordHash'>
  passwordQueue: Pick<PasswordQueue, 'run'>
  limiter: Limiter
  audit: AuditTrail
  /** The hash of a password that nobody has, made with the parameters in force when it is first asked for. */
  decoyHash: () => Promise<string>
}

export type SignInAttempt = { account: string; password: string; knownBrowser: boolean }

export type SignInResult =
  | { kind: 'signed_in'; user: User }
  | { kind: 'refused' }
  | { kind: 'too_many_attempts'; retryAfterSeconds: number }

/** The account as it was typed, in the form in which it is compared and counted. */
export function toAccount(username: string): string {
  return username.normalize('NFC').trim()
}

/**
 * Checks a user name and password. Whatever is wrong, the same work is done and the same answer given.
 * @throws {PasswordQueueFull} when too many others are being checked; the attempt is not counted then
 */
export async function signIn(attempt: SignInAttempt, deps: SignInDeps, audited: AuditedRequest): Promise<SignInResult> {
  const limits = signInLimits(attempt.account, audited.ip, attempt.knownBrowser)
  try {
    // Counted before the password is hashed, so that a thousand guesses at once are a thousand guesses.
    await deps.limiter.count(limits)
  } catch (error) {
    if (!(error instanceof TooManyAttempts)) throw error
    deps.audit.record(audited, { event: 'sign_in_failed', reason: 'too_many_attempts' })
    return { kind: 'too_many_attempts', retryAfterSeconds: error.retryAfterSeconds }
  }
  const judged = await judge(attempt, deps).catch(async (error: unknown) => {
    // Nobody learnt anything from an attempt that an outage cut short.
    await deps.limiter.forget(limits).catch(() => {})
    throw error
  })
  if (judged.refusal !== undefined) {
    deps.audit.record(audited, { event: 'sign_in_failed', userId: judged.user?.userId, reason: judged.refusal })
    return { kind: 'refused' }
  }
  await deps.limiter.forget(limits)
  deps.audit.record(audited, { event: 'sign_in_succeeded', userId: judged.user.userId })
  return { kind: 'signed_in', user: judged.user }
}

type Judged = { refusal: undefined; user: User } | { refusal: string; user: User | undefined }

async function judge({ account, password }: SignInAttempt, deps: SignInDeps): Promise<Judged> {
  const found = await deps.users.findWithPassword(account)
  // Whoever comes first waits until there is a decoy, whether it is needed or not: the time must not tell.
  const decoyHash = await deps.decoyHash()
  const matches = await deps.passwordQueue.run(() => verifyPassword(found?.passwordHash ?? decoyHash, password))
  if (found === undefined) return { refusal: 'unknown_user', user: undefined }
  if (!matches) return { refusal: 'wrong_password', user: found.user }
  if (found.user.disabled) return { refusal: 'disabled_user', user: found.user }
  if (isOutdated(found.passwordHash)) await renewHash(found.user.userId, found.passwordHash, password, deps)
  return { refusal: undefined, user: found.user }
}

async function renewHash(userId: string, from: string, password: string, deps: SignInDeps): Promise<void> {
  try {
    const to = await deps.passwordQueue.run(() => hashPassword(password))
    await deps.users.replacePasswordHash(userId, { from, to })
  } catch (error) {
    // The password was right; its hash is renewed at a quieter sign-in.
    if (!(error instanceof PasswordQueueFull)) throw error
  }
}
