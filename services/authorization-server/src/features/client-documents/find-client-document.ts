import {
  type ClientMetadata,
  objectionToClientIdUrl,
  readClientMetadata,
  type SkippedEntry
} from '@valetkey/oauth-protocol'
import { type ClientRefusal, isTransient, type RefusalReason } from '../../platform/clients/document-refusal.js'
import type { ClientDocumentStore, StoredDocument } from './client-document-store.js'
import { type ClientIdPolicy, isAllowedClientId, isListedClientId } from './client-id-policy.js'
import type { FetchedDocument } from './fetch-document.js'
import type { FetchLimits, WantedFetch } from './fetch-limits.js'
import { freshSeconds } from './freshness.js'

export type FoundDocument = { kind: 'found'; metadata: ClientMetadata } | { kind: 'refused'; refusal: ClientRefusal }

export type ClientDocumentDeps = {
  policy: ClientIdPolicy
  documents: ClientDocumentStore<RefusalReason>
  limits: FetchLimits
  fetch: (url: string) => Promise<FetchedDocument>
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
      if (stored !== undefined) return found(stored)
      const { retryAfterSeconds } = place
      return { kind: 'refused', refusal: { reason: 'too_many_client_documents', detail: '', retryAfterSeconds } }
    }
    try {
      return await fetchAndStore(clientId, stored, deps)
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
  stored: StoredDocument | undefined,
  { fetch, documents, onFetch, onSkipped, now }: ClientDocumentDeps
): Promise<FoundDocument> {
  const fetched = await fetch(clientId)
  const evaluated = fetched.kind === 'failed' ? fetched : evaluate(fetched.text, clientId)
  onFetch(evaluated.kind === 'failed' ? evaluated.refusal.reason : 'fetched')
  if (evaluated.kind === 'failed') {
    // An invalid document withdraws the client; a server that does not respond does not.
    await documents.saveFailure(clientId, evaluated.refusal, { withdraws: !isTransient(evaluated.refusal) })
    return fallBack(evaluated.refusal, stored)
  }
  for (const skipped of evaluated.skipped) onSkipped(clientId, skipped)
  const fetchedAt = now().getTime()
  const seconds = fetched.kind === 'fetched' ? freshSeconds(fetched.cacheControl) : 0
  await documents.save(clientId, { ...evaluated, fetchedAt, freshUntil: fetchedAt + seconds * 1_000 }, USABLE_MS)
  return { kind: 'found', metadata: evaluated.metadata }
}

type Evaluated =
  | { kind: 'valid'; metadata: ClientMetadata; skipped: readonly SkippedEntry[] }
  | { kind: 'failed'; refusal: ClientRefusal }

function evaluate(text: string, clientId: string): Evaluated {
  const read = readClientMetadata(text, clientId)
  if (read.kind === 'valid') return read
  const reason = read.member === 'document' ? 'document_not_json' : (`document_member_${read.member}` as const)
  return { kind: 'failed', refusal: { reason, detail: read.problem } }
}

function fallBack(refusal: ClientRefusal, stored: StoredDocument | undefined): FoundDocument {
  return stored !== undefined && isTransient(refusal) ? found(stored) : { kind: 'refused', refusal }
}

function found({ metadata }: StoredDocument): FoundDocument {
  return { kind: 'found', metadata }
}
