import { checkWritable, type Database, type DatabaseClock, type HealthChecks } from '@valetkey/service-kit'
import type { AppDeps } from '../app.js'
import type { Config } from '../config.js'
import type { RevocationChannel } from '../feed/revocation-channel.js'
import type { Examination } from '../operator/start-page/describe-overview.js'
import { newPasswordRules } from '../platform/passwords/new-password.js'
import { hashing } from '../platform/passwords/password.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

const WRITTEN_TABLES = ['users', 'sessions', 'authorizations', 'consents', 'grants', 'refresh_tokens', 'audit_events']

/** The operator listener: the administration API. */
export function wireOperator(
  config: Config,
  stores: Stores,
  platform: Platform,
  examine: () => Promise<Examination>
): Pick<AppDeps, 'admin' | 'startPage'> {
  const { audit, limiter, passwordQueue, now } = platform
  const { auditEntries, clientLogos, consents, grantedAccess, operatorKeys, registered, users } = stores
  const administration = { ...registered, consents, clientLogos }
  return {
    startPage: { branding: config, examine, issuer: config.issuer, uptime: () => process.uptime(), now },
    admin: {
      authentication: { operatorKeys, limiter, audit },
      operatorKeys: { operatorKeys },
      users: {
        users,
        hashPassword: (password) => passwordQueue.run(hashing(password)),
        passwordRules: newPasswordRules({ ...config, ...config.signIn })
      },
      grants: { grantedAccess, users, clients: stores.registry.clients, resourceServers: registered.resourceServers },
      audit: { auditEntries },
      clients: administration,
      scopes: { scopes: registered.scopes, resourceServers: registered.resourceServers },
      resourceServers: { resourceServers: registered.resourceServers }
    }
  }
}

/** The checks of `/readyz`. */
export function wireHealthChecks(
  database: Database,
  refuseSharing: () => Promise<void>,
  stores: Stores,
  clock: Pick<DatabaseClock, 'mustAgree'>,
  channel: RevocationChannel
): HealthChecks {
  return {
    async postgres() {
      try {
        await checkWritable(database, WRITTEN_TABLES)
      } finally {
        // Behind a pooler that shares sessions, some statements succeed and some fail.
        await refuseSharing()
      }
    },
    // A process whose clock is far from Postgres's must not serve: it would issue tokens with a wrong expiry.
    clock: clock.mustAgree,
    // Without Redis, refresh, revocation, introspection and the file service still work.
    redis: { needed: 'at start', probe: stores.redisProbe },
    // Without it, every token is introspected and every client is read from Postgres.
    announcements: { needed: 'never', probe: async () => mustBeVerified(channel) }
  }
}

function mustBeVerified(channel: RevocationChannel): void {
  if (!channel.state().isVerified) throw new Error('the LISTEN connection is not verified')
}
