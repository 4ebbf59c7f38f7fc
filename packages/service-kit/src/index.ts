export { batched } from './batched.js'
export { type BuildServerOptions, buildServer } from './build-server.js'
export { checkWritable } from './check-writable.js'
export { ipAddress, networkMatcher } from './client-address.js'
export { createDatabaseClock, type DatabaseClock, refuseWrongClock, watchClock } from './clock/database-clock.js'
export { askAtTerminal, linesOfFailure, printResult } from './command-line.js'
export * from './doctor/index.js'
export { createDrain, type Drain } from './drain.js'
export { ConfigurationError, type Environment, environmentReader, type ListenAddress } from './environment-reader.js'
export { type HealthCheck, type HealthChecks, healthRoutes } from './health-routes.js'
export { buildLogger, type Logger } from './logger.js'
export { watchBuild } from './metrics/build-metrics.js'
export type { Counter, LabelValues } from './metrics/counter.js'
export { watchDependencyStates } from './metrics/dependency-metrics.js'
export type { Histogram } from './metrics/histogram.js'
export { createHttpMetrics, type HttpMeter } from './metrics/http-metrics.js'
export { createMetrics, type Metrics } from './metrics/metrics.js'
export { metricsRoute } from './metrics/metrics-route.js'
export { watchPool } from './metrics/pool-metrics.js'
export { groupRoutes, inGroup, ROUTE_GROUPS, type RouteGroup } from './metrics/route-groups.js'
export type { Sample } from './metrics/sample.js'
export { MigrationError, migrate, pendingMigrations } from './migrate.js'
export { type NotificationChannel, openNotificationChannel } from './notification-channel.js'
export {
  type ConnectedDatabase,
  connectPostgres,
  type Database,
  isUndefinedTable,
  isUniqueViolation,
  LONG_STATEMENT_MS,
  type Statement
} from './postgres.js'
export { findPooling, type Pooling } from './postgres-pooler.js'
export { postgresUrls } from './postgres-url.js'
export { Problem, sendProblem, type UnreadableBody } from './problem.js'
export { problemOfRedis } from './redis-problem.js'
export { type RedisAddress, readRedisUrl } from './redis-url.js'
export { type RunningService, runUntilSignal } from './run-until-signal.js'
export { settleWithin } from './settle-within.js'
export type { StoreProblem } from './store-problem.js'
export { createStoreState, type StoreState } from './store-state.js'
export { isOutage, problemOf, StoreUnavailable } from './store-unavailable.js'
export { watchDependencies } from './watch-dependencies.js'
