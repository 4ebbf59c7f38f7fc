import { hash } from 'node:crypto'
import { type FeedLog, followRevocations } from '../revocations/revocation-feed.js'
import { beginCall, emptyView, isVerified, type Mark, stands, viewWithoutFeed } from '../revocations/revocation-view.js'
import { createAnswerCache } from './answer-cache.js'
import type { ActiveAnswer, IntrospectionAnswer } from './introspection-answer.js'
import { createIntrospectionEndpoint, type EndpointOptions } from './introspection-endpoint.js'
import type { IntrospectorStatistics } from './introspector-statistics.js'
import { createSharedCalls } from './shared-calls.js'

export type IntrospectionOptions = EndpointOptions & {
  /** Keep answers for a while. Without it every request asks, and a revoked token is refused at the next one. */
  cache?: CacheOptions
}

export type CacheOptions = {
  /** How long an answer may be used, in seconds, counted from the call. 0 keeps nothing. */
  seconds: number
  /**
   * The revocation feed of a Valetkey authorization server. With it, answers are used only while the feed is proved
   * alive, and a revoked token is refused within moments. Without it, a revoked token is accepted until `seconds` are over.
   */
  revocationsUrl?: string
  /** Answers kept at most. Default 10,000. */
  maxEntries?: number
  /** Bytes that they may take, by estimate. Default 16 MiB. */
  maxBytes?: number
}

/** Asks an authorization server about tokens. */
export type Introspector = {
  /**
   * Answers at once what it knows already.
   * @throws {IntrospectionUnavailableError} (a rejection) when nothing is known about the token
   */
  introspect(accessToken: string, requestId: string): IntrospectionAnswer | Promise<IntrospectionAnswer>
  close(): Promise<void>
}

/** One that tells how it does. */
export type WatchedIntrospector = Introspector & { cacheState(): CacheState; statistics(): IntrospectorStatistics }

/** `waiting`: answers may be kept, but the feed is not proved alive, so every request asks. */
export type CacheState = 'off' | 'live' | 'waiting'

/**
 * An introspector for one authorization server. Concurrent requests for the same token share calls.
 * @param log hears when the revocation feed comes and goes
 */
export function buildIntrospector(settings: IntrospectionOptions, log?: FeedLog): WatchedIntrospector {
  const { cache } = settings
  return cache === undefined || cache.seconds === 0 ? askingEachTime(settings) : keepingAnswers(settings, cache, log)
}

function askingEachTime(settings: EndpointOptions): WatchedIntrospector {
  const endpoint = createIntrospectionEndpoint(settings)
  const calls = createSharedCalls<IntrospectionAnswer>()
  let bypasses = 0
  return {
    // A call that is under way may have looked before the token was revoked; so whoever comes later takes the next one.
    introspect(accessToken, requestId) {
      bypasses += 1
      const ask = async (requestIds: readonly string[]) => (await endpoint.ask(accessToken, requestIds)).answer
      return calls.fresh(accessToken, ask, requestId)
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

type Kept = { answer: ActiveAnswer; names: readonly string[]; mark: Mark; until: number }
type Told = { answer: IntrospectionAnswer; names: readonly string[]; mark: Mark }

const INACTIVE: IntrospectionAnswer = { active: false }
/** Of tokens that are no good only a few are remembered, apart from the good ones, and not for long. */
const REFUSALS = { entries: 1_000, bytes: 1024 * 1024 }
const REFUSAL_MS = 2_000
/** A parsed answer takes about this many times the characters it had: its members, and the names made of them. */
const BYTES_PER_CHARACTER = 3

function keepingAnswers(
  settings: IntrospectionOptions,
  cache: CacheOptions,
  log: FeedLog | undefined
): WatchedIntrospector {
  const endpoint = createIntrospectionEndpoint(settings)
  const view = cache.revocationsUrl === undefined ? viewWithoutFeed() : emptyView()
  const limits = { entries: cache.maxEntries ?? 10_000, bytes: cache.maxBytes ?? 16 * 1024 * 1024 }
  const answers = createAnswerCache<Kept>(limits)
  const refusals = createAnswerCache<number>(REFUSALS)
  const calls = createSharedCalls<Told>()
  const seen = { hits: 0, misses: 0, bypasses: 0 }
  const feed =
    cache.revocationsUrl === undefined
      ? undefined
      : followRevocations({ ...settings, url: cache.revocationsUrl }, view, log)

  async function ask(key: string, accessToken: string, requestIds: readonly string[]): Promise<Told> {
    const begun = performance.now()
    const mark = beginCall(view, begun)
    const { answer, size } = await endpoint.ask(accessToken, requestIds)
    const names = answer.active ? namesOf(answer) : []
    if (!answer.active) {
      answers.delete(key)
      refusals.set(key, begun + REFUSAL_MS, 0)
    } else if (mark.proved && stands(view, mark, names) && (feed === undefined || canBeNamed(answer))) {
      const until = Math.min(begun + cache.seconds * 1_000, begun + lifeOf(answer))
      answers.set(key, { answer, names, mark, until }, size * BYTES_PER_CHARACTER)
    }
    return { answer, names, mark }
  }

  function recall(key: string, now: number): IntrospectionAnswer | undefined {
    const kept = answers.get(key)
    if (kept !== undefined && isVerified(view, now)) {
      if (now < kept.until && stands(view, kept.mark, kept.names)) return kept.answer
      answers.delete(key)
    }
    return (refusals.get(key) ?? 0) > now ? INACTIVE : undefined
  }

  async function joinOrAsk(key: string, accessToken: string, requestId: string, now: number) {
    const current = isVerified(view, now) ? calls.current(key) : undefined
    if (current !== undefined) {
      const told = await current
      // It may have died while the call was under way: then what the call saw is older than this request. And where the
      // lease ran out meanwhile, nobody knows.
      if (isVerified(view, performance.now()) && stands(view, told.mark, told.names)) return told.answer
    }
    return (await calls.fresh(key, (requestIds) => ask(key, accessToken, requestIds), requestId)).answer
  }

  return {
    introspect(accessToken, requestId) {
      // What lies in memory must not be a list of tokens.
      const key = hash('sha256', accessToken, 'base64')
      const now = performance.now()
      const known = recall(key, now)
      if (known !== undefined) {
        seen.hits += 1
        return known
      }
      if (isVerified(view, now)) seen.misses += 1
      else seen.bypasses += 1
      return joinOrAsk(key, accessToken, requestId, now)
    },
    cacheState: () => (isVerified(view, performance.now()) ? 'live' : 'waiting'),
    statistics: () => ({
      cache: { ...seen, ...answers.size() },
      calls: endpoint.statistics(),
      feed: feed?.statistics()
    }),
    async close() {
      await feed?.close()
      await endpoint.close()
    }
  }
}

/** How the events of the feed call this token. */
function namesOf({ tokenId, grantId, subject, clientId }: ActiveAnswer): string[] {
  const members = { jti: tokenId, grant_id: grantId, sub: subject, client_id: clientId }
  return Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [`${name}:${value}`]))
}

/** A feed can end only what it has a word for. */
function canBeNamed({ tokenId, grantId, clientId }: ActiveAnswer): boolean {
  return tokenId !== undefined && grantId !== undefined && clientId !== undefined
}

/**
 * How many milliseconds the token may be answered for without asking: by the server's clock or by ours, whichever is ahead. A
 * clock that is wrong then costs a question, and never lets a token live longer.
 */
function lifeOf({ expiresAt, answeredAt }: ActiveAnswer): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY
  return expiresAt.getTime() - Math.max(Date.now(), answeredAt?.getTime() ?? 0)
}
