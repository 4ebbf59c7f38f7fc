import { createHttpMetrics, createMetrics, type HttpMeter, type Metrics } from '@valetkey/service-kit'

/** The counters of this server. `watch-guard.ts` exports the guard's own numbers. */
export type ServerMetrics = {
  metrics: Metrics
  http: (listener: 'public' | 'operator') => HttpMeter
  tokenRefused: (reason: string) => void
  /** Called with the number of file lists in each statement. */
  listsShared: (size: number) => void
}

/** The same values as in the log. */
const REASONS = [
  'token_in_query',
  'token_in_body',
  'doubled_header',
  'malformed',
  'never_issued',
  'not_active',
  'other_type',
  'sender_constrained',
  'expired',
  'other_audience',
  'other_issuer',
  'insufficient_scope'
]

export function createServerMetrics(): ServerMetrics {
  const metrics = createMetrics()
  const refusals = metrics.counter(
    { name: 'valetkey_access_tokens_refused_total', help: 'Requests whose access token was refused, by exact cause.' },
    { reason: REASONS }
  )
  const batches = metrics.histogram(
    { name: 'valetkey_statement_batch_size', help: 'Requests that shared a statement of Postgres.' },
    [1, 2, 4, 8, 16],
    { statement: ['list_files'] }
  )
  return {
    metrics,
    http: createHttpMetrics(metrics, ['public', 'operator']),
    tokenRefused: (reason) => refusals.add(reason),
    listsShared: (size) => batches.observe(size, 'list_files')
  }
}
