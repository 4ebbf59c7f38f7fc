import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici/index.js'
import { basicCredentials } from '../encode-basic-credentials.js'
import type { FeedStatistics } from '../introspection/introspector-statistics.js'
import { eventStreamReader } from './event-stream.js'
import {
  addNonce,
  applyEvent,
  disconnect,
  type FeedEvent,
  isVerified,
  LEASE_MS,
  type RevocationView,
  resetView
} from './revocation-view.js'

/** Logs when the feed becomes live or is lost; a pino logger fits. */
export type FeedLog = {
  info(members: object, message: string): void
  warn(members: object, message: string): void
}

export type FeedOptions = { url: string; clientId: string; clientSecret: string }

const NONCE_INTERVAL_MS = 1_000
/** A stream without a proof for this long is closed, because another connection may reach a working server. */
const PROOF_LIMIT_MS = 4_000
const HEAD_LIMIT_MS = 3_000
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 2_000

type Feed = {
  readonly view: RevocationView
  readonly log: FeedLog | undefined
  readonly pool: Pool
  readonly path: string
  readonly authorization: string
  /** Aborted by `close`. */
  readonly stop: AbortController
  /**
   * Aborts the current stream. A controller for each stream, not one signal combined with `stop`: a long-lived signal
   * keeps a reference to every signal that was derived from it.
   */
  streamEnd: AbortController
  isLive: boolean
  /** Connections that failed in a row. */
  failures: number
  losses: number
  verifiedAt: number | undefined
  roundTripMs: number | undefined
}

/**
 * Follows the revocation feed of an authorization server and updates `view` until it is closed. Reconnects after every
 * loss, with growing pauses until the feed is verified again.
 */
export function followRevocations(
  options: FeedOptions,
  view: RevocationView,
  log?: FeedLog
): { statistics(): FeedStatistics; close(): Promise<void> } {
  const { origin, pathname, search } = new URL(options.url)
  const feed: Feed = {
    view,
    log,
    // One connection for the stream; the others for nonces, because a slow server may delay several of them.
    pool: new Pool(origin, { connections: 4, headersTimeout: HEAD_LIMIT_MS, bodyTimeout: 0 }),
    path: pathname + search,
    authorization: basicCredentials(options),
    stop: new AbortController(),
    streamEnd: new AbortController(),
    isLive: false,
    failures: 0,
    losses: 0,
    verifiedAt: undefined,
    roundTripMs: undefined
  }
  const following = follow(feed)
  return {
    statistics() {
      const now = performance.now()
      const { verifiedAt, roundTripMs, losses } = feed
      // The age keeps growing after the lease has ended.
      const leaseAgeMs = verifiedAt === undefined ? undefined : now - verifiedAt
      return { isVerified: isVerified(view, now), leaseAgeMs, roundTripMs, losses }
    },
    async close() {
      feed.stop.abort()
      feed.streamEnd.abort()
      await following
      // `close` would wait for nonces that have no response yet.
      await feed.pool.destroy()
    }
  }
}

async function follow(feed: Feed): Promise<void> {
  const { signal } = feed.stop
  while (!signal.aborted) {
    const reason = await readStream(feed).then(
      (end) => {
        resetView(feed.view)
        return end
      },
      (error: unknown) => {
        disconnect(feed.view)
        return describe(error)
      }
    )
    if (feed.isLive && !signal.aborted) {
      feed.losses += 1
      feed.log?.warn({ event: 'revocation_feed_lost', reason }, 'revocation feed lost')
    }
    feed.isLive = false
    const pause = Math.min(MIN_PAUSE_MS * 2 ** feed.failures, MAX_PAUSE_MS)
    feed.failures += 1
    // Randomized, so that many guards do not reconnect at the same time.
    await wait(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
  }
}

/** Opens one stream and reads it to its end. @returns why it ended @throws when the connection broke */
async function readStream(feed: Feed): Promise<string> {
  feed.streamEnd = new AbortController()
  const { signal } = feed.streamEnd
  // undici's headersTimeout does not cover the time before a connection is available.
  const headLimit = setTimeout(() => feed.streamEnd.abort(), PROOF_LIMIT_MS)
  const { statusCode, body } = await feed.pool
    .request({
      method: 'GET',
      path: feed.path,
      headers: { accept: 'text/event-stream', authorization: feed.authorization },
      signal
    })
    .finally(() => clearTimeout(headLimit))
  if (statusCode !== 200) {
    // The body is not read to its end, because it may have none.
    body.on('error', () => {}).destroy()
    return `responded with status ${statusCode}`
  }
  const openedAt = performance.now()
  const nonceTimer = setInterval(() => {
    if (performance.now() - Math.max(openedAt, feed.view.verifiedUntil) > PROOF_LIMIT_MS) feed.streamEnd.abort()
    else sendNonce(feed)
  }, NONCE_INTERVAL_MS)
  try {
    const read = eventStreamReader()
    for await (const text of body.setEncoding('utf8')) {
      const events = read(text)
      if (events === undefined || !applyEvents(feed, events)) return 'an event is inconsistent with those before it'
    }
    return 'closed by the server'
  } finally {
    clearInterval(nonceTimer)
  }
}

/** @returns false if an event is inconsistent with those before it */
function applyEvents(feed: Feed, events: readonly FeedEvent[]): boolean {
  const { view } = feed
  for (const event of events) {
    const { verifiedUntil } = view
    if (!applyEvent(view, event)) return false
    if (view.verifiedUntil > verifiedUntil) {
      feed.verifiedAt = view.verifiedUntil - LEASE_MS
      feed.roundTripMs = performance.now() - feed.verifiedAt
    }
    if (event.event === 'opened') sendNonce(feed)
  }
  if (!feed.isLive && isVerified(view, performance.now())) {
    feed.isLive = true
    feed.failures = 0
    feed.log?.info({ event: 'revocation_feed_live' }, 'revocation feed live')
  }
  return true
}

function sendNonce({ view, pool, path, authorization }: Feed): void {
  const { stream } = view
  if (stream === undefined) return
  const nonce = randomBytes(16).toString('base64url')
  addNonce(view, nonce, performance.now())
  pool
    .request({
      method: 'POST',
      path,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: `stream=${encodeURIComponent(stream.id)}&nonce=${nonce}`,
      bodyTimeout: HEAD_LIMIT_MS,
      signal: AbortSignal.timeout(HEAD_LIMIT_MS)
    })
    .then(({ body }) => body.dump())
    // A failure needs no handling here: without a proof the lease ends.
    .catch(() => {})
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
