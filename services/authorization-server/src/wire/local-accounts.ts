import { createHmac } from 'node:crypto'
import type { CanonicalName } from '@valetkey/sign-in-rules'
import type { PublicDeps } from '../app.js'
import type { Config } from '../config.js'
import { newPasswordRules } from '../platform/passwords/new-password.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

/** The user's password and the list of sessions. */
export function wireLocalAccounts(
  config: Config,
  { ownSessions, users }: Stores,
  { audit, limiter, passwordQueue }: Platform,
  { session, ways }: Pick<PublicDeps['login'], 'session' | 'ways'>
): Pick<PublicDeps, 'password' | 'sessionList'> {
  const { issuer, cookieKeys } = config
  const passwordRules = newPasswordRules({ ...config, ...config.signIn })
  const common = { issuer, cookieKeys, audit }
  const labels = new Map(ways.foreign.map(({ id, label }) => [id, label]))
  return {
    password: { ...session, ...common, limiter, passwordQueue, passwordRules, users, ownSessions, isLocal: ways.local },
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
