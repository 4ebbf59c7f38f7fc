import type { Config } from '../../config.js'
import type { ServerMetrics } from '../../platform/metrics/server-metrics.js'
import type { Platform } from '../../wire/platform.js'
import type { Stores } from '../../wire/stores.js'
import type { ClientDiscovery } from './discover-client.js'
import { type FetchDeps, fetchDocument } from './fetch-document.js'
import { createFetchLimits } from './fetch-limits.js'
import { createClientDocuments } from './find-client-document.js'

const FETCH_LIMIT_MS = 5_000
/** The limits of each process. A user needs one fetch for each app, and tries a few times. */
const RATES = { perOriginPerMinute: 30, perUserPerMinute: 20, atOnce: 16, perOriginAtOnce: 4, perUserAtOnce: 4 }

/** How hosts of client id URLs are found and trusted. */
export type ReachHosts = Pick<FetchDeps, 'resolve' | 'ca'>

export type DiscoveryParts = {
  watched: Pick<ServerMetrics, 'clientDocument'>
  reach: ReachHosts
}

/** Undefined if only registered clients are accepted. */
export function wireClientDiscovery(
  { clientMetadata: { policy, maxPerMinute, refreshTokenMaxTtl } }: Config,
  { clientDocuments }: Stores,
  { now, logger }: Platform,
  { watched, reach }: DiscoveryParts
): ClientDiscovery | undefined {
  if (policy.mode === 'off') return undefined
  const { allowsLoopback } = policy
  const documents = createClientDocuments({
    policy,
    documents: clientDocuments,
    limits: createFetchLimits({ ...RATES, perMinute: maxPerMinute }),
    fetch: (url) => fetchDocument(url, { ...reach, allowsLoopback, signal: AbortSignal.timeout(FETCH_LIMIT_MS) }),
    onFetch: watched.clientDocument,
    onSkipped: (clientId, skipped) =>
      logger?.info(
        { event: 'client_document_entry_skipped', clientId, ...skipped },
        'an entry of a client document is not used'
      ),
    now
  })
  return { documents, refreshTokenMax: refreshTokenMaxTtl }
}
