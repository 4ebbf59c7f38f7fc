export { createDatabaseClock, type DatabaseClock, refuseWrongClock, watchClock } from './clock/database-clock.js'
export * from './doctor/index.js'
export { watchBuild } from './metrics/build-metrics.js'
export type { Counter } from './metrics/counter.js'
export { watchDependencyStates } from './metrics/dependency-metrics.js'
export { createHttpMetrics, type HttpMeter } from './metrics/http-metrics.js'
export { createMetrics, type Metrics } from './metrics/metrics.js'
export { metricsRoute } from './metrics/metrics-route.js'
export { watchPool } from './metrics/pool-metrics.js'
export { groupRoutes, inGroup } from './metrics/route-groups.js'
export { checkWritable } from './postgres/check-writable.js'
export { defineStatement, type ValuesOf } from './postgres/define-statement.js'
export { MigrationError, migrate, pendingMigrations } from './postgres/migrate.js'
export {
  type NotificationChannel,
  openNotificationChannel,
  type SendNotification
} from './postgres/notification-channel.js'
export {
  type ConnectedDatabase,
  connectPostgres,
  type Database,
  LONG_STATEMENT_MS,
  type Statement
} from './postgres/postgres.js'
export { findPooling } from './postgres/postgres-pooler.js'
export { isUndefinedTable, isUniqueViolation } from './postgres/postgres-problem.js'
export { OWN_SETTINGS, roleSettings } from './postgres/postgres-settings.js'
export { askAtTerminal, exitOnClosedPipe, linesOfFailure, printResult } from './process/command-line.js'
export { adjustCommands } from './process/command-tree.js'
export { decodeText } from './process/decode-text.js'
export {
  ConfigurationError,
  type Environment,
  environmentReader
} from './process/environment-reader.js'
export { buildLogger, type Logger } from './process/logger.js'
export { addMigrateCommand } from './process/migrate-command.js'
export { readPackageVersion } from './process/package-version.js'
export { type RunningService, runUntilSignal } from './process/run-until-signal.js'
export { STOP_LIMITS_MS, settleWithin } from './process/settle-within.js'
export { completionScript, SHELLS } from './process/shell-completion.js'
export { withTimeLimit } from './process/with-time-limit.js'
export { problemOfRedis } from './redis/redis-problem.js'
export { type RedisAddress, readRedisUrl } from './redis/redis-url.js'
export { allowAnyOrigin, preflightRoutes } from './server/allow-any-origin.js'
export { buildServer } from './server/build-server.js'
export { ipAddress, networkMatcher } from './server/client-address.js'
export { createDrain } from './server/drain.js'
export { healthRoutes } from './server/health-routes.js'
export { atOwnAddress } from './server/own-address.js'
export {
  Problem,
  sendProblem,
  type UnreadableBody,
  type UnreadableRequest,
  unreadableProblem
} from './server/problem.js'
export { createReadiness, type HealthChecks, type Readiness } from './server/readiness.js'
export { batched, batchedByKey } from './stores/batched.js'
export { createStoreState, type StoreState } from './stores/store-state.js'
export { isOutage, problemOf, StoreUnavailable } from './stores/store-unavailable.js'
export { watchDependencies } from './stores/watch-dependencies.js'
