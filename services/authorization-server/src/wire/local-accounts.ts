import { createHmac } from 'node:crypto'
import type { CanonicalName } from '@valetkey/sign-in-rules'
import type { PublicDeps } from '../app.js'
import type { Config } from '../config.js'
import { newPasswordRules } from '../platform/passwords/new-password.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

export type LocalAccountDeps = Pick<PublicDeps, 'accountLink' | 'password' | 'sessionList'>

/** Links of operators, the user's password and the list of sessions. */
export function wireLocalAccounts(
  config: Config,
  { accountLinks, ownSessions, users }: Stores,
  { audit, limiter, passwordQueue, now }: Platform,
  { session, ways, completion }: Pick<PublicDeps['login'], 'session' | 'ways' | 'completion'>
): LocalAccountDeps {
  const { issuer, cookieKeys } = config
  const passwordRules = newPasswordRules({ ...config, ...config.signIn })
  const common = { issuer, cookieKeys, audit }
  const passwords = { ...common, limiter, passwordQueue, passwordRules }
  const labels = new Map(ways.foreign.map(({ id, label }) => [id, label]))
  return {
    accountLink: { ...passwords, accountLinks, cookies: session.cookies, ways, completion, now },
    password: { ...session, ...passwords, users, ownSessions, isLocal: ways.local },
    sessionList: { ...session, ...common, ownSessions, labels }
  }
}

/** Places accounts among the ids of users; without the key, their place cannot be computed. */
export function decoyAt([key = '']: readonly string[]): (account: CanonicalName) => string {
  return (account) => {
    const place = createHmac('sha256', key).update(`decoy\n${account}`).digest('hex')
    return place.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }
}
