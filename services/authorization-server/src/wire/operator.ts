import { checkWritable, type Database, type DatabaseClock, type HealthChecks } from '@valetkey/service-kit'
import type { OperatorDeps } from '../app.js'
import type { RevocationChannel } from '../feed/revocation-channel.js'
import { hashPassword } from '../platform/passwords/password.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

const WRITTEN_TABLES = ['users', 'consents', 'grants', 'refresh_tokens', 'audit_events']

/** The operator listener: the administration API. */
export function wireOperator(stores: Stores, { audit, limiter, passwordQueue }: Platform): OperatorDeps {
  const { auditEntries, consents, grantedAccess, identities, operatorKeys, registered, users } = stores
  return {
    admin: {
      authentication: { operatorKeys, limiter, audit },
      operatorKeys: { operatorKeys },
      users: { users, identities, hashPassword: (password) => passwordQueue.run(() => hashPassword(password)) },
      identities: { identities, users },
      grants: { grants: grantedAccess, users, clients: stores.registry.clients },
      audit: { entries: auditEntries },
      clients: { ...registered, consents },
      scopes: { scopes: registered.scopes, consents },
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
