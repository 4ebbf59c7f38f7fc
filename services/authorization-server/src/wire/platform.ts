import { availableParallelism } from 'node:os'
import type { Logger } from '@valetkey/service-kit'
import type { Config } from '../config.js'
import { auditEventsOf, type WithAuditEvents } from '../platform/audit/audit-event.js'
import { createAuditTrail } from '../platform/audit/audit-trail.js'
import { loadLanguages } from '../platform/i18n/language.js'
import { countDecisions } from '../platform/metrics/audit-metrics.js'
import type { ServerMetrics } from '../platform/metrics/server-metrics.js'
import { watchPasswordQueue } from '../platform/metrics/watch.js'
import { createPasswordQueue } from '../platform/passwords/password-queue.js'
import { createLimiter, WAITING } from '../platform/rate-limits/limiter.js'
import { createUsage } from '../platform/usage.js'
import type { Stores } from './stores.js'

/** One processor and one of libuv's four threads stay free. */
const MOST_AT_ONCE = Math.max(1, Math.min(3, availableParallelism() - 1))

/** What more than one listener needs from `platform/`. */
export function createPlatform(
  config: Config,
  stores: Stores,
  watched: ServerMetrics,
  { features, now, logger }: { features: WithAuditEvents; now: () => Date; logger: Logger | undefined }
) {
  const passwordQueue = createPasswordQueue({
    atOnce: MOST_AT_ONCE,
    bytes: config.signIn.passwordMemory,
    waiting: WAITING.attempts,
    milliseconds: WAITING.milliseconds
  })
  const auditEvents = auditEventsOf(features)
  const platform = {
    audit: countDecisions(watched.metrics, createAuditTrail(stores.auditEvents, auditEvents, now), auditEvents),
    limiter: createLimiter(stores.attemptCounters, config.limitsFactor, watched.limiterRefused),
    passwordQueue,
    languages: loadLanguages(),
    usage: {
      grants: createUsage(stores.connectedApps, now),
      clientSecrets: createUsage(stores.registered.secrets, now),
      resourceServers: createUsage(stores.registered.resourceServers, now),
      sessions: createUsage(stores.sessions, now)
    },
    now,
    logger
  }
  watchPasswordQueue(watched.metrics, passwordQueue)
  return platform
}

export type Platform = ReturnType<typeof createPlatform>
