import type { AuthorizationDetail } from '../../storage/redis/code-record.js'
import { createLatestKeeper } from '../../storage/redis/keep-latest.js'
import type { PendingRequest } from '../../storage/redis/pending-requests.js'
import type { RecordAuthentication } from '../../storage/redis/record-authentication.js'
import { type Redis, reached } from '../../storage/redis/redis.js'

/** As long as pending authorization requests, and as many of each user. */
const LIFETIME_SECONDS = 3_600
const MOST_REQUESTS = 100

/**
 * What users chose for pending authorization requests, in Redis under the hash of the request: only the same browser, session and
 * query can use it.
 */
export function createChosenStore(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST_REQUESTS, LIFETIME_SECONDS)

  async function put(pending: PendingRequest, part: 'chosen' | 'draft', content: string): Promise<void> {
    const key = keysOf(pending)[part]
    await reached(redis.set(key, records.protect(key, content), 'EX', LIFETIME_SECONDS))
    const dropped = await keepLatest(`vk:chosen-list:{${pending.userId}}`, pending.hash)
    await Promise.all(
      dropped.map((hash) => reached(redis.del(...Object.values(keysOf({ userId: pending.userId, hash })))))
    )
  }

  return {
    async find(pending: PendingRequest): Promise<{
      detail: AuthorizationDetail | undefined
      draft: string | undefined
    }> {
      const { chosen, draft } = keysOf(pending)
      const [detail, form] = await reached(redis.mget(chosen, draft))
      const opened = detail ? records.open(chosen, detail) : undefined
      return {
        detail: opened === undefined ? undefined : (JSON.parse(opened) as AuthorizationDetail),
        draft: form ? records.open(draft, form) : undefined
      }
    },

    /** @param draft the consent form, form-encoded */
    saveDraft: (pending: PendingRequest, draft: string): Promise<void> => put(pending, 'draft', draft),

    saveDetail: (pending: PendingRequest, detail: AuthorizationDetail): Promise<void> =>
      put(pending, 'chosen', JSON.stringify(detail))
  }
}

export type ChosenStore = ReturnType<typeof createChosenStore>

function keysOf({ userId, hash }: PendingRequest): { chosen: string; draft: string } {
  // The braces keep both keys on one node of a Redis cluster.
  return { chosen: `vk:chosen:{${userId}}:${hash}`, draft: `vk:draft:{${userId}}:${hash}` }
}
