import { createHash } from 'node:crypto'
import type { ClientMetadata } from '@valetkey/oauth-protocol'
import { createLatestKeeper } from '../../storage/redis/keep-latest.js'
import type { RecordAuthentication } from '../../storage/redis/record-authentication.js'
import { type Redis, reached } from '../../storage/redis/redis.js'

/** A valid document. Milliseconds since 1970. */
export type StoredDocument = { metadata: ClientMetadata; fetchedAt: number; freshUntil: number }

/** Why the last fetch failed; `storage/` does not know the reasons. */
type Failure<Reason extends string> = { reason: Reason; detail: string }

/** Documents and failures, each. A new one removes the oldest, so that a user who names many URLs cannot fill Redis. */
const MOST = 2_000
const LONGEST_SECONDS = 86_400
/** No document is fetched again this long after a failure. */
const PAUSE_SECONDS = 45

/** Client id metadata documents, under a hash of their URL, with a MAC: a forged one could name another redirect URI. */
export function createClientDocumentStore<Reason extends string>(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST, LONGEST_SECONDS)

  async function write(key: string, content: object, milliseconds: number, list: string): Promise<void> {
    await reached(redis.set(key, records.protect(key, JSON.stringify(content)), 'PX', milliseconds))
    const dropped = await keepLatest(list, key)
    await Promise.all(dropped.map((oldest) => reached(redis.del(oldest))))
  }

  function open<Content>(key: string, stored: string | null | undefined): Content | undefined {
    const content = stored === null || stored === undefined ? undefined : records.open(key, stored)
    return content === undefined ? undefined : (JSON.parse(content) as Content)
  }

  return {
    async find(
      clientId: string
    ): Promise<{ document: StoredDocument | undefined; failure: Failure<Reason> | undefined }> {
      const { document, failure } = keysOf(clientId)
      const [storedDocument, storedFailure] = await reached(redis.mget(document, failure))
      return { document: open(document, storedDocument), failure: open(failure, storedFailure) }
    },

    async save(clientId: string, { metadata, fetchedAt, freshUntil }: StoredDocument, milliseconds: number) {
      const { name, redirectUris, keys, dpopBound } = metadata
      const content = { metadata: { name, redirectUris, keys, dpopBound }, fetchedAt, freshUntil }
      await write(keysOf(clientId).document, content, milliseconds, 'vk:client-documents')
    },

    /** Stores that a fetch failed. A failure that withdraws the client also deletes its document. */
    async saveFailure(clientId: string, { reason, detail }: Failure<Reason>, { withdraws }: { withdraws: boolean }) {
      const { document, failure } = keysOf(clientId)
      if (withdraws) await reached(redis.del(document))
      await write(failure, { reason, detail }, PAUSE_SECONDS * 1_000, 'vk:client-document-failures')
    }
  }
}

export type ClientDocumentStore<Reason extends string = string> = ReturnType<typeof createClientDocumentStore<Reason>>

function keysOf(clientId: string): { document: string; failure: string } {
  const hash = createHash('sha256').update(clientId).digest('base64url')
  return { document: `vk:client-document:{${hash}}`, failure: `vk:client-document-failure:{${hash}}` }
}
