import type { PublicDeps } from '../app.js'
import { type SignInWay, signInWays } from '../browser/login/sign-in-ways.js'
import type { ValidationDeps } from '../browser/pending-requests/validate-request.js'
import { newRandomId } from '../browser/session/random-id.js'
import type { Config } from '../config.js'
import { hashPassword } from '../platform/passwords/password.js'
import { decoyAt, wireLocalAccounts } from './local-accounts.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

/**
 * The sign-in page, and the pages where users change their own password and sessions.
 * @param core.added the ways that features add to the password
 */
export function wireSignIn(
  config: Config,
  stores: Stores,
  platform: Platform,
  core: ValidationDeps & Pick<PublicDeps['login'], 'session' | 'foreignSignOut'> & { added: readonly SignInWay[] }
): Pick<PublicDeps, 'login' | 'password' | 'sessionList'> {
  const { session, added, foreignSignOut, ...validation } = core
  const { audit, limiter, passwordQueue } = platform
  const { issuer, cookieKeys } = config
  const { pending, users } = stores
  const ways = signInWays(config.signIn.local, added)
  const decoyHash = once(() => hashPassword(newRandomId()))
  return {
    login: {
      issuer,
      cookieKeys,
      audit,
      ...validation,
      session,
      ways,
      foreignSignOut,
      helpUrl: config.signIn.helpUrl,
      users,
      passwordQueue,
      limiter,
      decoyHash,
      decoyAt: decoyAt(cookieKeys),
      pending
    },
    ...wireLocalAccounts(config, stores, platform, { session, ways })
  }
}

/** Creates the value at the first call: a hash takes 19 MiB. After a failure, the next call tries again. */
function once<Value>(create: () => Promise<Value>): () => Promise<Value> {
  let created: Promise<Value> | undefined
  return () => {
    created ??= create().catch((error: unknown) => {
      created = undefined
      throw error
    })
    return created
  }
}
