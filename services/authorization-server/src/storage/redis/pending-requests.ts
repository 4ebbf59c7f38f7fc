import type { TokenHash } from '@valetkey/oauth-protocol'
import { createLatestKeeper } from './keep-latest.js'
import { defineScript, type Redis, reached } from './redis.js'

/** A request whose consent page was shown. The hash is of its id, query, browser and session. */
export type PendingRequest = { userId: string; hash: string }

/** The state of a request that was taken recently. */
export type Decision = { kind: 'deciding' } | { kind: 'denied' } | { kind: 'allowed'; codeHash: TokenHash }

/** The limit of each user, over all sessions. A new request removes the oldest. */
const MOST_PENDING = 100

/** The time from the newest request of the user. */
const PENDING_SECONDS = 3600

/** This is longer than any decision takes. Afterwards the process that took the request must have crashed. */
const DECIDING_MS = 10_000

/** Pending authorization requests: a list of hashes in Redis for each user. */
export function createPendingRequestStore(redis: Redis) {
  const keepLatest = createLatestKeeper(redis, MOST_PENDING, PENDING_SECONDS)
  const takeRequest = defineScript(redis, 'valetkeyTakeRequest', TAKE, 2)

  return {
    async add(request: PendingRequest): Promise<void> {
      await keepLatest(keys(request).requests, request.hash)
    },

    async exists(request: PendingRequest): Promise<boolean> {
      return (await reached(redis.lpos(keys(request).requests, request.hash))) !== null
    },

    /**
     * Removes the request and stores atomically that it is being decided, so that each request is decided once, and a form that is
     * sent twice can wait for the first decision.
     */
    async take(request: PendingRequest): Promise<boolean> {
      const { requests, decision } = keys(request)
      return (await takeRequest(requests, decision, request.hash, DECIDING_MS)) === 1
    },

    async saveDecision(
      request: PendingRequest,
      decision: Exclude<Decision, { kind: 'deciding' }>,
      lifetimeMs: number
    ): Promise<void> {
      const value = decision.kind === 'denied' ? 'denied' : decision.codeHash.toString('hex')
      await reached(redis.set(keys(request).decision, value, 'PX', lifetimeMs))
    },

    async findDecision(request: PendingRequest): Promise<Decision | undefined> {
      const stored = await reached(redis.get(keys(request).decision))
      if (stored === null) return undefined
      if (stored === 'deciding' || stored === 'denied') return { kind: stored }
      return { kind: 'allowed', codeHash: Buffer.from(stored, 'hex') as TokenHash }
    }
  }
}

export type PendingRequestStore = ReturnType<typeof createPendingRequestStore>

function keys({ userId, hash }: PendingRequest): { requests: string; decision: string } {
  // The braces keep both keys on one node of a Redis cluster.
  return { requests: `vk:requests:{${userId}}`, decision: `vk:decision:{${userId}}:${hash}` }
}

const TAKE = `
if redis.call('LREM', KEYS[1], 0, ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], 'deciding', 'PX', ARGV[2])
return 1
`
