import { createHttpMetrics, createMetrics, type HttpMeter, type Metrics } from '@valetkey/service-kit'

/** The counters of this server. `watch-guard.ts` exports the guard's own numbers. */
export type ServerMetrics = {
  metrics: Metrics
  http: (listener: 'public' | 'operator') => HttpMeter
  tokenRefused: (reason: string) => void
  /** Called with the number of file lists in each statement. */
  listsShared: (size: number) => void
}

/** Only where DPoP is accepted. */
const PROOF_REASONS = [
  'bearer_not_accepted',
  'not_bound',
  'proof_missing',
  'proof_not_one_proof',
  'proof_not_a_jws',
  'proof_typ',
  'proof_alg',
  'proof_crit',
  'proof_jwk',
  'proof_jti',
  'proof_htm',
  'proof_htu',
  'proof_iat',
  'proof_nonce',
  'proof_nonce_missing',
  'proof_nonce_refused',
  'proof_ath',
  'proof_other_key',
  'proof_signature',
  'proof_used'
]

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
  'unknown_authorization_details',
  'insufficient_user_authentication',
  'insufficient_scope',
  ...PROOF_REASONS
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
