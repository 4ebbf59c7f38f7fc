import type { TokenDigest } from '@valetkey/oauth-protocol'
import { defineScript, type Redis, reached } from './redis.js'

/** An authorization request that waits for its user: the query as it came, and the browser that brought it. */
export type PendingRequest = { query: string; browserDigest: string }

/** What became of a request that was taken out a moment ago. */
export type Decision = { kind: 'deciding' } | { kind: 'denied' } | { kind: 'allowed'; codeDigest: TokenDigest }

/** Longer than any decision takes; afterwards the process that took the request is thought to be dead. */
const DECIDING_MS = 10_000

/** Pending authorization requests in Redis, under the hash of their id. */
export function createPendingRequestStore(redis: Redis) {
  const takeRequest = defineScript(redis, 'valetkeyTakeRequest', TAKE, 2)

  return {
    async save(digest: string, request: PendingRequest, lifetimeSeconds: number): Promise<void> {
      await reached(redis.set(keys(digest).request, JSON.stringify(request), 'EX', lifetimeSeconds))
    },

    async find(digest: string): Promise<PendingRequest | undefined> {
      const stored = await reached(redis.get(keys(digest).request))
      return stored === null ? undefined : (JSON.parse(stored) as PendingRequest)
    },

    /**
     * Takes it out and notes in the same step that it is being decided, so that one request is decided once, and a form
     * sent twice can wait for the first.
     */
    async take(digest: string): Promise<boolean> {
      const { request, decision } = keys(digest)
      return (await takeRequest(request, decision, DECIDING_MS)) === 1
    },

    async saveDecision(
      digest: string,
      decision: Exclude<Decision, { kind: 'deciding' }>,
      lifetimeMs: number
    ): Promise<void> {
      const value = decision.kind === 'denied' ? 'denied' : decision.codeDigest.toString('hex')
      await reached(redis.set(keys(digest).decision, value, 'PX', lifetimeMs))
    },

    async findDecision(digest: string): Promise<Decision | undefined> {
      const stored = await reached(redis.get(keys(digest).decision))
      if (stored === null) return undefined
      if (stored === 'deciding' || stored === 'denied') return { kind: stored }
      return { kind: 'allowed', codeDigest: Buffer.from(stored, 'hex') as TokenDigest }
    }
  }
}

export type PendingRequestStore = ReturnType<typeof createPendingRequestStore>

function keys(digest: string): { request: string; decision: string } {
  // The braces keep both keys on one node of a Redis cluster.
  return { request: `vk:request:{${digest}}`, decision: `vk:decision:{${digest}}` }
}

const TAKE = `
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], 'deciding', 'PX', ARGV[1])
return 1
`
