import { type ClientMetadata, objectionToClientIdUrl, type SkippedEntry } from '@valetkey/oauth-protocol'
import { type ClientRefusal, isTransient, type RefusalReason } from '../../platform/clients/document-refusal.js'
import type { FetchedDocument } from '../../platform/fetch/fetch-document.js'
import type { ClientDocumentStore, StoredDocument } from './client-document-store.js'
import { type ClientIdPolicy, isAllowedClientId, isListedClientId } from './client-id-policy.js'
import type { FetchLimits, WantedFetch } from './fetch-limits.js'
import { freshSeconds } from './freshness.js'
import { type DocumentFetches, readClientDocument } from './read-client-document.js'

/** @property fetchedAt milliseconds since 1970 */
export type FoundDocument =
  | { kind: 'found'; metadata: ClientMetadata; fetchedAt: number }
  | { kind: 'refused'; refusal: ClientRefusal }

export type ClientDocumentDeps = {
  policy: ClientIdPolicy
  documents: ClientDocumentStore<RefusalReason>
  limits: FetchLimits
  fetch: DocumentFetches
  /** Is called after each fetch, and for each one that the limits refuse. */
  onFetch: (outcome: RefusalReason | 'fetched') => void
  /** Is called after a fetch for each entry of a list that is not used. */
  onSkipped: (clientId: string, skipped: SkippedEntry) => void
  now: () => Date
}

/** @property userId the signed-in user: without one, nothing may be fetched */
export type DocumentReader = Pick<WantedFetch, 'userId' | 'isKnown'>

/** A copy is used this long while the app's server does not respond. */
const USABLE_MS = 86_400_000

/** The documents of clients that no operator registered. */
export function createClientDocuments(deps: ClientDocumentDeps) {
  const { policy, documents, now } = deps
  /** Fetches in progress: parallel requests for a document share one. The limits bound their number. */
  const running = new Map<string, Promise<FoundDocument>>()

  async function fetchOnce(
    clientId: string,
    reader: DocumentReader,
    stored: StoredDocument | undefined
  ): Promise<FoundDocument> {
    const place = deps.limits.begin({ origin: new URL(clientId).origin, ...reader })
    if (place.kind === 'refused') {
      deps.onFetch('too_many_client_documents')
      // Others may have used up the limit of this origin, which must not lock out the users of its known clients.
      return fallBack(tooMany(place), stored)
    }
    try {
      return await fetchAndStore(clientId, reader, stored, deps)
    } finally {
      place.release()
    }
  }

  return {
    /** Why the policy refuses this id without a fetch; undefined if it does not. */
    refuse(clientId: string): ClientRefusal | undefined {
      const objection = objectionToClientIdUrl(clientId, policy)
      if (objection !== undefined) return { reason: 'client_id_malformed', detail: `client_id ${objection}.` }
      return isAllowedClientId(clientId, policy) ? undefined : { reason: 'client_id_not_allowed', detail: '' }
    },

    /** Whether the operator named this id or its host. */
    isListed: (clientId: string): boolean => isListedClientId(clientId, policy),

    /**
     * The document of a client, from the cache or its server.
     * @param clientId one that `refuse` does not refuse
     */
    async find(clientId: string, reader: DocumentReader): Promise<FoundDocument> {
      const { document, failure } = await documents.find(clientId)
      const usable = document !== undefined && document.fetchedAt + USABLE_MS > now().getTime() ? document : undefined
      if (usable !== undefined && usable.freshUntil > now().getTime()) return found(usable)
      if (failure !== undefined) return fallBack(failure, usable)
      const shared = running.get(clientId)
      if (shared !== undefined) return shared
      const fetching = fetchOnce(clientId, reader, usable).finally(() => running.delete(clientId))
      running.set(clientId, fetching)
      return fetching
    }
  }
}

export type ClientDocuments = ReturnType<typeof createClientDocuments>

async function fetchAndStore(
  clientId: string,
  reader: DocumentReader,
  stored: StoredDocument | undefined,
  { fetch, limits, documents, onFetch, onSkipped, now }: ClientDocumentDeps
): Promise<FoundDocument> {
  const keys = (jwksUri: string) => withinLimits(jwksUri, reader, limits, fetch.keys)
  const read = await readClientDocument(clientId, { ...fetch, keys })
  onFetch(read.kind === 'failed' ? read.refusal.reason : 'fetched')
  if (read.kind === 'failed') {
    if (read.refusal.reason === 'too_many_client_documents') return fallBack(read.refusal, stored)
    // An invalid document withdraws the client; a server that does not respond does not.
    await documents.saveFailure(clientId, read.refusal, { withdraws: !isTransient(read.refusal) })
    return fallBack(read.refusal, stored)
  }
  const { metadata } = read
  for (const skipped of read.skipped) onSkipped(clientId, skipped)
  const fetchedAt = now().getTime()
  const freshUntil = fetchedAt + freshSeconds(read.cacheControl) * 1_000
  await documents.save(clientId, { metadata, fetchedAt, freshUntil }, USABLE_MS)
  return { kind: 'found', metadata, fetchedAt }
}

/** Keys may be on another host, so the limits of its origin count, too. */
async function withinLimits(
  jwksUri: string,
  reader: DocumentReader,
  limits: FetchLimits,
  fetch: DocumentFetches['keys']
): Promise<FetchedDocument> {
  const place = limits.begin({ origin: new URL(jwksUri).origin, ...reader })
  if (place.kind === 'refused') return { kind: 'failed', refusal: tooMany(place) }
  try {
    return await fetch(jwksUri)
  } finally {
    place.release()
  }
}

function tooMany({ retryAfterSeconds }: { retryAfterSeconds: number }): ClientRefusal {
  return { reason: 'too_many_client_documents', detail: '', retryAfterSeconds }
}

/** @param stored a copy to use while the server of the client does not respond, or the limits are reached */
function fallBack(refusal: ClientRefusal, stored: StoredDocument | undefined): FoundDocument {
  const mayUseCopy = isTransient(refusal) || refusal.reason === 'too_many_client_documents'
  return stored !== undefined && mayUseCopy ? found(stored) : { kind: 'refused', refusal }
}

function found({ metadata, fetchedAt }: StoredDocument): FoundDocument {
  return { kind: 'found', metadata, fetchedAt }
}
