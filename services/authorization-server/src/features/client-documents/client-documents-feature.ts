import type { ClientFinder } from '../../browser/pending-requests/client-finder.js'
import type { Feature, FeatureParts } from '../../feature.js'
import { REFUSAL_REASONS, type RefusalReason } from '../../platform/clients/document-refusal.js'
import { type FetchDeps, fetchDocument } from '../../platform/fetch/fetch-document.js'
import { resolveHost } from '../../platform/fetch/resolve-host.js'
import { createScopeStore } from '../../storage/postgres/scopes.js'
import { DOCUMENT_EVENTS } from './audit-events.js'
import { createClientDocumentStore } from './client-document-store.js'
import { isAcceptedClientId } from './client-id-policy.js'
import { type ClientDiscovery, discoverClient, refuseMalformed } from './discover-client.js'
import { createDiscoveredClientStore } from './discovered-client-store.js'
import { evaluateClientMetadata } from './evaluate-client-metadata.js'
import { createFetchLimits } from './fetch-limits.js'
import { createClientDocuments } from './find-client-document.js'
import { storeDiscoveredClient } from './store-discovered-client.js'

const FETCH_LIMIT_MS = 5_000
const MAX_BYTES = { document: 5 * 1024, keys: 64 * 1024 }
/** The limits of each process. A user needs one fetch for each app, and tries a few times. */
const RATES = { perOriginPerMinute: 30, perUserPerMinute: 20, atOnce: 16, perOriginAtOnce: 4, perUserAtOnce: 4 }

/** How hosts of client id URLs are found and trusted. */
export type ReachHosts = Pick<FetchDeps, 'resolve' | 'ca'>

/** Clients that no operator registered: their id is the URL of a document that describes them. */
export const clientDocuments: Feature = createClientDocumentsFeature({ resolve: resolveHost })

/** The feature with other ways to reach hosts, for tests. */
export function createClientDocumentsFeature(reach: ReachHosts): Feature {
  return {
    auditEvents: DOCUMENT_EVENTS,
    start: (parts) => ({ clientFinder: createClientFinder(parts, reach) }),
    examineRecords: {
      check: 'CLIENT_ID_METADATA',
      examine: async ({ clientMetadata }, database) => [
        evaluateClientMetadata(clientMetadata, await createScopeStore(database).list())
      ]
    }
  }
}

/** Undefined if only registered clients are accepted. */
function createClientFinder(parts: FeatureParts, reach: ReachHosts): ClientFinder | undefined {
  const { config, database, platform, stores } = parts
  const documentsFetched = countFetches(parts)
  const { policy } = config.clientMetadata
  if (policy.mode === 'off') return undefined
  const discovery = { ...createDiscovery(parts, reach, documentsFetched), scopes: stores.registry.scopes }
  const storing = { discovered: createDiscoveredClientStore(database), limiter: platform.limiter }
  return {
    accepts: (clientId) => isAcceptedClientId(clientId, policy),
    isListed: discovery.documents.isListed,
    refuseMalformed: (clientId) => refuseMalformed(clientId, discovery),
    find: (clientId, stored, visitor) => discoverClient(clientId, stored, discovery, visitor),
    store: (client, userId, audited) => storeDiscoveredClient(client, userId, storing, audited)
  }
}

function createDiscovery(
  { config: { clientMetadata }, redis, records, platform: { now, logger } }: FeatureParts,
  reach: ReachHosts,
  onFetch: (outcome: RefusalReason | 'fetched') => void
): ClientDiscovery {
  const { policy, maxPerMinute, refreshTokenMaxTtl } = clientMetadata
  const { allowsLoopback } = policy
  const fetchUpTo = (maxBytes: number) => (url: string) => {
    const signal = AbortSignal.timeout(FETCH_LIMIT_MS)
    return fetchDocument(url, { ...reach, allowsLoopback, maxBytes, signal })
  }
  const documents = createClientDocuments({
    policy,
    documents: createClientDocumentStore<RefusalReason>(redis, records),
    limits: createFetchLimits({ ...RATES, perMinute: maxPerMinute }),
    fetch: { document: fetchUpTo(MAX_BYTES.document), keys: fetchUpTo(MAX_BYTES.keys) },
    onFetch,
    onSkipped: (clientId, skipped) =>
      logger?.info(
        { event: 'client_document_entry_skipped', clientId, ...skipped },
        'an entry of a client document is not used'
      ),
    now
  })
  return { documents, refreshTokenMax: refreshTokenMaxTtl }
}

function countFetches({ watched }: FeatureParts): (outcome: RefusalReason | 'fetched') => void {
  const documents = watched.metrics.counter(
    { name: 'valetkey_client_documents_total', help: 'Fetches of client id metadata documents, by outcome.' },
    { outcome: ['fetched', ...REFUSAL_REASONS] }
  )
  return (outcome) => documents.add(outcome)
}
