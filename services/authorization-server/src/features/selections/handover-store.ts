import { randomUUID } from 'node:crypto'
import { createLatestKeeper } from '../../storage/redis/keep-latest.js'
import type { RecordAuthentication } from '../../storage/redis/record-authentication.js'
import { defineScript, type Redis, reached } from '../../storage/redis/redis.js'

/** A browser that was sent to the page of an API, to choose for this client. */
export type Handover = {
  userId: string
  clientId: string
  clientName: string
  audience: string
  /** The scope that selects. */
  scope: string
  /** Language tag. */
  language: string
  /** Where the browser returns to. */
  returnTo: string
  purpose: HandoverPurpose
}

type HandoverPurpose =
  /** For a pending authorization request, which the user has not decided about. */
  | { kind: 'request'; pendingHash: string }
  /** Changes what was chosen for a connected app. */
  | { kind: 'change'; type: string; identifier: string }

/** @property stored the record, with which it can be started once */
export type FoundHandover = { handover: Handover; isStarted: boolean; expiresIn: number; stored: string }

type HandoverRecord = Handover & {
  /** The call that started it; absent before. */
  startedBy?: string
}

const LIFETIME_SECONDS = 900

/** The limit of each user. A new hand-over removes the oldest. */
const MOST_HANDOVERS = 20

/** Hand-overs of browsers to APIs, in Redis under the hash of their id. */
export function createHandoverStore(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST_HANDOVERS, LIFETIME_SECONDS)
  const replace = defineScript(redis, 'valetkeyStartHandover', START, 1)

  return {
    /** @param idHash hash of a random id that only the address of the page of the API contains */
    async add(idHash: string, handover: Handover): Promise<void> {
      const key = keyOf(idHash)
      await reached(redis.set(key, records.protect(key, JSON.stringify(handover)), 'EX', LIFETIME_SECONDS))
      const dropped = await keepLatest(`vk:handover-list:${handover.userId}`, idHash)
      await Promise.all(dropped.map((oldest) => reached(redis.del(keyOf(oldest)))))
    },

    async find(idHash: string): Promise<FoundHandover | undefined> {
      const key = keyOf(idHash)
      const [stored, expiresIn] = await Promise.all([reached(redis.get(key)), reached(redis.ttl(key))])
      const json = stored === null ? undefined : records.open(key, stored)
      // This service did not write it.
      if (stored === null || json === undefined || expiresIn <= 0) return undefined
      const { startedBy, ...handover } = JSON.parse(json) as HandoverRecord
      return { handover, isStarted: startedBy !== undefined, expiresIn, stored }
    },

    /** @returns false if another call has started it, or it has expired */
    async start(idHash: string, { handover, stored }: FoundHandover): Promise<boolean> {
      const key = keyOf(idHash)
      const started: HandoverRecord = { ...handover, startedBy: randomUUID() }
      return (await replace(key, stored, records.protect(key, JSON.stringify(started)))) === 1
    }
  }
}

export type HandoverStore = ReturnType<typeof createHandoverStore>

const keyOf = (idHash: string): string => `vk:handover:${idHash}`

// The driver sends a script again if the connection breaks before the response; its own record shows the second run the first.
const START = `
local stored = redis.call('GET', KEYS[1])
if stored == ARGV[2] then return 1 end
if stored ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', redis.call('PTTL', KEYS[1]))
return 1
`
