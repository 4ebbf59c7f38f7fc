import type { AuditedRequest, AuditTrail } from '../audit/audit-trail.js'
import { verifyPassword } from '../passwords/password.js'
import type { User, UserStore } from '../storage/users.js'

export type SignInDeps = {
  users: Pick<UserStore, 'findWithPassword'>
  audit: AuditTrail
  /** The hash of a password that nobody has, made with the parameters in force. */
  decoyHash: string
}

export type SignInResult = { kind: 'signed_in'; user: User } | { kind: 'refused' }

/** Checks a user name and password. Whatever is wrong, the same work is done and the same answer given. */
export async function signIn(
  entered: { username: string; password: string },
  deps: SignInDeps,
  audited: AuditedRequest
): Promise<SignInResult> {
  const username = entered.username.normalize('NFC').trim()
  const found = await deps.users.findWithPassword(username)
  const matches = await verifyPassword(found?.passwordHash ?? deps.decoyHash, entered.password)
  const reason =
    found === undefined
      ? 'unknown_user'
      : !matches
        ? 'wrong_password'
        : found.user.disabled
          ? 'disabled_user'
          : undefined
  if (found === undefined || reason !== undefined) {
    deps.audit.record(audited, { event: 'sign_in_failed', userId: found?.user.userId, reason })
    return { kind: 'refused' }
  }
  deps.audit.record(audited, { event: 'sign_in_succeeded', userId: found.user.userId })
  return { kind: 'signed_in', user: found.user }
}
