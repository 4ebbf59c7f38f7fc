import { hash } from 'node:crypto'
import type { TraceContext } from '@valetkey/oauth-protocol'
import { type FeedLog, followRevocations } from '../revocations/revocation-feed.js'
import {
  beginCall,
  emptyView,
  isUnrevoked,
  isVerified,
  type Mark,
  type RevocationView,
  viewWithoutFeed
} from '../revocations/revocation-view.js'
import { createIntrospectionEndpoint, type EndpointOptions } from './introspection-endpoint.js'
import type { ActiveResult, IntrospectionResult } from './introspection-result.js'
import type { IntrospectorStatistics } from './introspector-statistics.js'
import { createResultCache } from './result-cache.js'
import { type CallOrigin, createSharedCalls } from './shared-calls.js'

export type IntrospectionOptions = EndpointOptions & {
  /** Without it, every request is introspected, and a revoked token is refused at the next request. */
  cache?: CacheOptions
}

export type CacheOptions = {
  /** Maximum age of a cached result in seconds, from the start of its call. 0 turns the cache off. */
  seconds: number
  /**
   * The revocation feed of a Valetkey authorization server. With it, cached results are used only while the feed is
   * verified, and a revoked token is refused within moments. Without it, a revoked token is accepted for up to `seconds`.
   */
  revocationsUrl?: string
  /** Maximum number of cached results. Default 10,000. */
  maxEntries?: number
  /** Maximum size of the cache in bytes, estimated. Default 16 MiB. */
  maxBytes?: number
}

/** Introspects tokens at an authorization server. */
export type Introspector = {
  /**
   * Returns a cached result at once, without a promise.
   * @param trace of a request whose caller is trusted; for the call to the authorization server
   * @throws {IntrospectionUnavailableError} (a rejection) when nothing is known about the token
   */
  introspect(
    accessToken: string,
    requestId: string,
    trace?: TraceContext
  ): IntrospectionResult | Promise<IntrospectionResult>
  statistics?(): IntrospectorStatistics
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
  const calls = createSharedCalls<IntrospectionResult>()
  let bypasses = 0
  return {
    // A call in progress may have got its response before a revocation, so later requests share the next call.
    introspect(accessToken, requestId, trace) {
      bypasses += 1
      const call = async (origin: CallOrigin) => (await endpoint.introspect(accessToken, origin)).result
      return calls.fresh(accessToken, call, requestId, trace)
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
type Entry = { result: ActiveResult; names: readonly string[]; mark: Mark; validUntil: number }
type MarkedResult = { result: IntrospectionResult; names: readonly string[]; mark: Mark }

const INACTIVE: IntrospectionResult = { active: false }
/** Inactive tokens have a small cache of their own, so that they cannot displace active ones. */
const INACTIVE_LIMITS = { entries: 1_000, bytes: 1024 * 1024 }
const INACTIVE_MS = 2_000
/** Estimated size of a parsed result, with the names made from it, for each character of its text. */
const BYTES_PER_CHARACTER = 3

function cachedIntrospector(
  options: IntrospectionOptions,
  cache: CacheOptions,
  log: FeedLog | undefined
): WatchedIntrospector {
  const endpoint = createIntrospectionEndpoint(options)
  const { revocationsUrl, maxEntries = 10_000, maxBytes = 16 * 1024 * 1024 } = cache
  const view = revocationsUrl === undefined ? viewWithoutFeed() : emptyView()
  const feed = revocationsUrl === undefined ? undefined : follow(revocationsUrl, options, view, log)
  const activeTokens = createResultCache<Entry>({ entries: maxEntries, bytes: maxBytes })
  const inactiveTokens = createResultCache<number>(INACTIVE_LIMITS)
  const calls = createSharedCalls<MarkedResult>()
  const counts = { hits: 0, misses: 0, bypasses: 0 }

  function lookUp(key: string, now: number): IntrospectionResult | undefined {
    const entry = activeTokens.get(key)
    if (entry !== undefined && isVerified(view, now)) {
      if (now < entry.validUntil && isUnrevoked(view, entry.mark, entry.names)) return entry.result
      activeTokens.delete(key)
    }
    return (inactiveTokens.get(key) ?? 0) > now ? INACTIVE : undefined
  }

  async function callAndStore(key: string, token: string, origin: CallOrigin): Promise<MarkedResult> {
    const startedAt = performance.now()
    const mark = beginCall(view, startedAt)
    const { result, size } = await endpoint.introspect(token, origin)
    const names = result.active ? namesOf(result) : []
    if (!result.active) {
      activeTokens.delete(key)
      inactiveTokens.set(key, startedAt + INACTIVE_MS, 0)
    } else if (mark.wasVerified && isUnrevoked(view, mark, names) && (feed === undefined || isRevocable(result))) {
      const validUntil = startedAt + Math.min(cache.seconds * 1_000, remainingMs(result))
      activeTokens.set(key, { result, names, mark, validUntil }, size * BYTES_PER_CHARACTER)
    }
    return { result, names, mark }
  }

  type Introspection = Parameters<Introspector['introspect']>

  async function joinOrCall(key: string, now: number, ...[token, requestId, trace]: Introspection) {
    const current = isVerified(view, now) ? calls.current(key) : undefined
    if (current !== undefined) {
      const { result, mark, names } = await current
      // The call began before this request. Its result counts only if it was not revoked, and the lease held, meanwhile.
      if (isVerified(view, performance.now()) && isUnrevoked(view, mark, names)) return result
    }
    return (await calls.fresh(key, (origin) => callAndStore(key, token, origin), requestId, trace)).result
  }

  return {
    introspect(accessToken, requestId, trace) {
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
      return joinOrCall(key, now, accessToken, requestId, trace)
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

/** The feed needs the same credentials as introspection, and no other option of it. */
function follow(
  url: string,
  { clientId, clientSecret }: EndpointOptions,
  view: RevocationView,
  log: FeedLog | undefined
): ReturnType<typeof followRevocations> {
  return followRevocations({ url, clientId, clientSecret }, view, log)
}

function namesOf({ tokenId, grantId, subject, clientId }: ActiveResult): string[] {
  const members = { jti: tokenId, grant_id: grantId, sub: subject, client_id: clientId }
  return Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [`${name}:${value}`]))
}

/** Whether revocation events can name this result's token, grant and client. */
function isRevocable({ tokenId, grantId, clientId }: ActiveResult): boolean {
  return tokenId !== undefined && grantId !== undefined && clientId !== undefined
}

/**
 * Time until the token expires, by the server's clock or ours, whichever is ahead. A wrong clock then causes an extra
 * call, but never extends the token's lifetime.
 */
function remainingMs({ expiresAt, respondedAt }: ActiveResult): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY
  return expiresAt.getTime() - Math.max(Date.now(), respondedAt?.getTime() ?? 0)
}
