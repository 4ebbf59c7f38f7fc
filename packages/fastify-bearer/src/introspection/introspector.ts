import { hash } from 'node:crypto'
import { type FeedLog, followRevocations } from '../revocations/revocation-feed.js'
import {
  beginCall,
  emptyView,
  isUnrevoked,
  isVerified,
  type Mark,
  viewWithoutFeed
} from '../revocations/revocation-view.js'
import { createAnswerCache } from './answer-cache.js'
import type { ActiveAnswer, IntrospectionAnswer } from './introspection-answer.js'
import { createIntrospectionEndpoint, type EndpointOptions } from './introspection-endpoint.js'
import type { IntrospectorStatistics } from './introspector-statistics.js'
import { createSharedCalls } from './shared-calls.js'

export type IntrospectionOptions = EndpointOptions & {
  /** Without it, every request is introspected, and a revoked token is refused at the next request. */
  cache?: CacheOptions
}

export type CacheOptions = {
  /** Maximum age of a cached answer in seconds, from the start of its call. 0 turns the cache off. */
  seconds: number
  /**
   * The revocation feed of a Valetkey authorization server. With it, cached answers are used only while the feed is
   * verified, and a revoked token is refused within moments. Without it, a revoked token is accepted for up to `seconds`.
   */
  revocationsUrl?: string
  /** Maximum number of cached answers. Default 10,000. */
  maxEntries?: number
  /** Maximum size of the cache in bytes, estimated. Default 16 MiB. */
  maxBytes?: number
}

/** Introspects tokens at an authorization server. */
export type Introspector = {
  /**
   * Returns a cached answer at once, without a promise.
   * @throws {IntrospectionUnavailableError} (a rejection) when nothing is known about the token
   */
  introspect(accessToken: string, requestId: string): IntrospectionAnswer | Promise<IntrospectionAnswer>
  close(): Promise<void>
}

/** An introspector with statistics. */
export type WatchedIntrospector = Introspector & { cacheState(): CacheState; statistics(): IntrospectorStatistics }

/** `waiting`: the feed is not verified, so every request is introspected. */
export type CacheState = 'off' | 'live' | 'waiting'

/**
 * An introspector for one authorization server. Concurrent requests for the same token share calls.
 * @param log for changes of the revocation feed between live and lost
 */
export function buildIntrospector(options: IntrospectionOptions, log?: FeedLog): WatchedIntrospector {
  const { cache } = options
  return cache === undefined || cache.seconds === 0
    ? uncachedIntrospector(options)
    : cachedIntrospector(options, cache, log)
}

function uncachedIntrospector(options: EndpointOptions): WatchedIntrospector {
  const endpoint = createIntrospectionEndpoint(options)
  const calls = createSharedCalls<IntrospectionAnswer>()
  let bypasses = 0
  return {
    // A call in progress may have been answered before a revocation, so later requests share the next call.
    introspect(accessToken, requestId) {
      bypasses += 1
      const call = async (requestIds: readonly string[]) => (await endpoint.introspect(accessToken, requestIds)).answer
      return calls.fresh(accessToken, call, requestId)
    },
    cacheState: () => 'off',
    statistics: () => ({
      cache: { hits: 0, misses: 0, bypasses, entries: 0, bytes: 0 },
      calls: endpoint.statistics(),
      feed: undefined
    }),
    close: () => endpoint.close()
  }
}

/** `names` are those of the token, its grant, user and client in revocation events. */
type Entry = { answer: ActiveAnswer; names: readonly string[]; mark: Mark; validUntil: number }
type MarkedAnswer = { answer: IntrospectionAnswer; names: readonly string[]; mark: Mark }

const INACTIVE: IntrospectionAnswer = { active: false }
/** Inactive tokens have a small cache of their own, so that they cannot displace active ones. */
const INACTIVE_LIMITS = { entries: 1_000, bytes: 1024 * 1024 }
const INACTIVE_MS = 2_000
/** Estimated size of a parsed answer, with the names made from it, for each character of its text. */
const BYTES_PER_CHARACTER = 3

function cachedIntrospector(
  options: IntrospectionOptions,
  cache: CacheOptions,
  log: FeedLog | undefined
): WatchedIntrospector {
  const endpoint = createIntrospectionEndpoint(options)
  const { revocationsUrl, maxEntries = 10_000, maxBytes = 16 * 1024 * 1024 } = cache
  const view = revocationsUrl === undefined ? viewWithoutFeed() : emptyView()
  const feed =
    revocationsUrl === undefined ? undefined : followRevocations({ ...options, url: revocationsUrl }, view, log)
  const activeTokens = createAnswerCache<Entry>({ entries: maxEntries, bytes: maxBytes })
  const inactiveTokens = createAnswerCache<number>(INACTIVE_LIMITS)
  const calls = createSharedCalls<MarkedAnswer>()
  const counts = { hits: 0, misses: 0, bypasses: 0 }

  function lookUp(key: string, now: number): IntrospectionAnswer | undefined {
    const entry = activeTokens.get(key)
    if (entry !== undefined && isVerified(view, now)) {
      if (now < entry.validUntil && isUnrevoked(view, entry.mark, entry.names)) return entry.answer
      activeTokens.delete(key)
    }
    return (inactiveTokens.get(key) ?? 0) > now ? INACTIVE : undefined
  }

  async function callAndStore(key: string, token: string, requestIds: readonly string[]): Promise<MarkedAnswer> {
    const startedAt = performance.now()
    const mark = beginCall(view, startedAt)
    const { answer, size } = await endpoint.introspect(token, requestIds)
    const names = answer.active ? namesOf(answer) : []
    if (!answer.active) {
      activeTokens.delete(key)
      inactiveTokens.set(key, startedAt + INACTIVE_MS, 0)
    } else if (mark.wasVerified && isUnrevoked(view, mark, names) && (feed === undefined || isRevocable(answer))) {
      const validUntil = startedAt + Math.min(cache.seconds * 1_000, remainingMs(answer))
      activeTokens.set(key, { answer, names, mark, validUntil }, size * BYTES_PER_CHARACTER)
    }
    return { answer, names, mark }
  }

  async function joinOrCall(key: string, token: string, requestId: string, now: number): Promise<IntrospectionAnswer> {
    const current = isVerified(view, now) ? calls.current(key) : undefined
    if (current !== undefined) {
      const { answer, mark, names } = await current
      // The call began before this request. Its answer counts only if it was not revoked, and the lease held, meanwhile.
      if (isVerified(view, performance.now()) && isUnrevoked(view, mark, names)) return answer
    }
    return (await calls.fresh(key, (requestIds) => callAndStore(key, token, requestIds), requestId)).answer
  }

  return {
    introspect(accessToken, requestId) {
      // A hash, so that the cache does not hold usable tokens.
      const key = hash('sha256', accessToken, 'base64')
      const now = performance.now()
      const cached = lookUp(key, now)
      if (cached !== undefined) {
        counts.hits += 1
        return cached
      }
      if (isVerified(view, now)) counts.misses += 1
      else counts.bypasses += 1
      return joinOrCall(key, accessToken, requestId, now)
    },
    cacheState: () => (isVerified(view, performance.now()) ? 'live' : 'waiting'),
    statistics: () => ({
      cache: { ...counts, ...activeTokens.size() },
      calls: endpoint.statistics(),
      feed: feed?.statistics()
    }),
    async close() {
      await feed?.close()
      await endpoint.close()
    }
  }
}

function namesOf({ tokenId, grantId, subject, clientId }: ActiveAnswer): string[] {
  const members = { jti: tokenId, grant_id: grantId, sub: subject, client_id: clientId }
  return Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [`${name}:${value}`]))
}

/** Whether revocation events can name this answer's token, grant and client. */
function isRevocable({ tokenId, grantId, clientId }: ActiveAnswer): boolean {
  return tokenId !== undefined && grantId !== undefined && clientId !== undefined
}

/**
 * Time until the token expires, by the server's clock or ours, whichever is ahead. A wrong clock then causes an extra
 * call, but never extends the token's lifetime.
 */
function remainingMs({ expiresAt, answeredAt }: ActiveAnswer): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY
  return expiresAt.getTime() - Math.max(Date.now(), answeredAt?.getTime() ?? 0)
}
