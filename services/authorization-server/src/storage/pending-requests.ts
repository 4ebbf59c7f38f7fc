import { type Redis, reached } from './redis.js'

/** An authorization request that waits for its user: the query as it came, and the browser that brought it. */
export type PendingRequest = { query: string; browserDigest: string }

/** Pending authorization requests in Redis, under the hash of their id. */
export function createPendingRequestStore(redis: Redis) {
  return {
    async save(digest: string, request: PendingRequest, lifetimeSeconds: number): Promise<void> {
      await reached(redis.set(key(digest), JSON.stringify(request), 'EX', lifetimeSeconds))
    },
    async find(digest: string): Promise<PendingRequest | undefined> {
      return parse(await reached(redis.get(key(digest))))
    },
    /** Takes it out, so that one request is decided once (GETDEL: atomic). */
    async take(digest: string): Promise<PendingRequest | undefined> {
      return parse(await reached(redis.getdel(key(digest))))
    }
  }
}

export type PendingRequestStore = ReturnType<typeof createPendingRequestStore>

const key = (digest: string): string => `vk:request:${digest}`

function parse(stored: string | null): PendingRequest | undefined {
  return stored === null ? undefined : (JSON.parse(stored) as PendingRequest)
}
