export { type BuildServerOptions, buildServer } from './build-server.js'
export { askAtTerminal, linesOfFailure, printResult } from './command-line.js'
export * from './doctor/index.js'
export { createDrain, type Drain } from './drain.js'
export { ConfigurationError, type Environment, environmentReader, type ListenAddress } from './environment-reader.js'
export { gatherCalls } from './gather-calls.js'
export { gatherWrites } from './gather-writes.js'
export { type HealthCheck, type HealthChecks, healthRoutes } from './health-routes.js'
export { buildLogger, type Logger } from './logger.js'
export type { Counter, LabelValues } from './metrics/counter.js'
export type { Histogram } from './metrics/histogram.js'
export { createHttpMetrics, type HttpMeter } from './metrics/http-metrics.js'
export { createMetrics, type Metrics } from './metrics/metrics.js'
export { metricsRoute } from './metrics/metrics-route.js'
export { watchPool } from './metrics/pool-metrics.js'
export type { Sample } from './metrics/sample.js'
export { MigrationError, migrate, pendingMigrations } from './migrate.js'
export { type NotificationChannel, openNotificationChannel } from './notification-channel.js'
export {
  type ConnectedDatabase,
  connectPostgres,
  type Database,
  isUndefinedTable,
  isUniqueViolation,
  type Statement
} from './postgres.js'
export { postgresUrls } from './postgres-url.js'
export { Problem, sendProblem, type UnreadableBody } from './problem.js'
export { createRandomPool } from './random-pool.js'
export { type RedisAddress, readRedisUrl } from './redis-url.js'
export { runUntilSignal } from './run-until-signal.js'
export { settleWithin } from './settle-within.js'
export { StoreUnavailable } from './store-unavailable.js'
