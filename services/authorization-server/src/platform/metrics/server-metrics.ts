import { createHttpMetrics, createMetrics, type HttpMeter, type Metrics } from '@valetkey/service-kit'
import { countRefusals, type OnRefusal } from './refusal-metrics.js'

type Listener = 'public' | 'internal' | 'operator'

/** Counters of this server, for the parts that report events. `watch.ts` reads parts that keep their own numbers. */
export type ServerMetrics = {
  metrics: Metrics
  http: (listener: Listener) => HttpMeter
  refused: OnRefusal
  introspected: (isActive: boolean) => void
  limiterRefused: (limit: string) => void
  registryBypassed: (table: string) => void
  /** A record in Redis that was written without our keys, by the prefix of its key. */
  forgedRecord: (kind: string) => void
  /** Number of requests in one batch. */
  batchOf: (statement: Statement) => (size: number) => void
}

const LISTENERS = ['public', 'internal', 'operator']
const LIMITS = [
  'sign-in',
  'sign-in-address',
  'sign-in-account',
  'sign-in-waiting',
  'account-link-address',
  'provider-address',
  'client-address',
  'resource-server-address',
  'operator-address',
  'app-form',
  'account-change',
  'new-client',
  'push-address',
  'push-client',
  'reported-token-address'
]
const RECORDS = ['vk:code', 'vk:attempt', 'vk:proposal', 'vk:client-document', 'vk:client-document-failure']
const TABLES = ['clients', 'scopes', 'resource_servers']
const STATEMENTS = ['authorize', 'exchange', 'refresh', 'introspect'] as const
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128]

type Statement = (typeof STATEMENTS)[number]

export function createServerMetrics(): ServerMetrics {
  const metrics = createMetrics()
  const introspections = metrics.counter(
    {
      name: 'valetkey_introspections_total',
      help: 'Introspected tokens, by response; refused and unavailable count requests.'
    },
    { outcome: ['active', 'inactive', 'refused', 'unavailable'] }
  )
  const limiter = metrics.counter(
    { name: 'valetkey_limiter_refusals_total', help: 'Attempts that a rate limit refused, by limit.' },
    { limit: LIMITS }
  )
  const registry = metrics.counter(
    { name: 'valetkey_registry_bypasses_total', help: 'Lookups that read Postgres instead of the cache, by table.' },
    { table: TABLES }
  )
  const forged = metrics.counter(
    {
      name: 'valetkey_redis_records_forged_total',
      help: 'Records in Redis without a valid MAC, by kind.'
    },
    { kind: RECORDS }
  )
  const batches = metrics.histogram({ name: 'valetkey_statement_batch_size', help: 'Requests in one batch.' }, SIZES, {
    statement: STATEMENTS
  })
  return {
    metrics,
    http: createHttpMetrics(metrics, LISTENERS),
    refused: countRefusals(metrics, introspections),
    introspected: (isActive) => introspections.add(isActive ? 'active' : 'inactive'),
    limiterRefused: (limit) => limiter.add(limit),
    registryBypassed: (table) => registry.add(table),
    forgedRecord: (kind) => forged.add(kind),
    batchOf: (statement) => (size) => batches.observe(size, statement)
  }
}
