import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'
import { basicCredentials } from '../introspection/introspection-endpoint.js'
import type { FeedStatistics } from '../introspection/introspector-statistics.js'
import { eventStreamReader } from './event-stream.js'
import {
  interrupt,
  isVerified,
  LEASE_MS,
  loseStream,
  type RevocationView,
  receive,
  sendNonce
} from './revocation-view.js'

/** Where the feed's coming and going is written; a pino logger fits. */
export type FeedLog = {
  info(members: object, message: string): void
  warn(members: object, message: string): void
}

export type FeedOptions = { url: string; clientId: string; clientSecret: string }

const NONCE_EVERY_MS = 1_000
/** A stream that proves nothing for so long is given up: another one may lead to a server that can. */
const GIVE_UP_AFTER_MS = 4_000
const HEAD_TIME_LIMIT_MS = 3_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/**
 * Follows the revocation feed of an authorization server and keeps `view` up to date, until it is closed. Connects again
 * after every loss, ever more slowly until the feed is proved again.
 */
export function followRevocations(
  settings: FeedOptions,
  view: RevocationView,
  log?: FeedLog
): { statistics(): FeedStatistics; close(): Promise<void> } {
  const { origin, pathname, search } = new URL(settings.url)
  const path = pathname + search
  const authorization = basicCredentials(settings)
  // One connection for the stream; the others for nonces, of which a slow server may hold back a few.
  const pool = new Pool(origin, { connections: 4, headersTimeout: HEAD_TIME_LIMIT_MS, bodyTimeout: 0 })
  const stop = new AbortController()
  // Of the stream. Not one signal made of this and `stop`: what lives long would keep a note of each that was made with it.
  let giveUp = new AbortController()
  let isLive = false
  let failures = 0
  let losses = 0
  let verifiedAt: number | undefined
  let roundTripMs: number | undefined

  const following = follow()
  return {
    statistics() {
      const now = performance.now()
      // Also of a lease that is over, or was ended: the age goes on.
      const leaseAgeMs = verifiedAt === undefined ? undefined : now - verifiedAt
      return { isVerified: isVerified(view, now), leaseAgeMs, roundTripMs, losses }
    },
    async close() {
      stop.abort()
      giveUp.abort()
      await following
      // Nonces that are still out go with it.
      await pool.destroy()
    }
  }

  async function follow(): Promise<void> {
    while (!stop.signal.aborted) {
      const reason = await readStream().then(
        (end) => {
          loseStream(view)
          return end
        },
        (error: unknown) => {
          interrupt(view)
          return describe(error)
        }
      )
      if (isLive && !stop.signal.aborted) {
        losses += 1
        log?.warn({ event: 'revocation_feed_lost', reason }, 'revocation feed lost')
      }
      isLive = false
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
      failures += 1
      // Spread, so that many guards do not come back in the same moment.
      await wait(pause * (0.5 + Math.random() / 2), undefined, { signal: stop.signal }).catch(() => {})
    }
  }

  /** Opens one stream and reads it to its end. @returns why it ended @throws when the connection broke */
  async function readStream(): Promise<string> {
    giveUp = new AbortController()
    const { signal } = giveUp
    // Also for the time that it waits for a connection.
    const headLimit = setTimeout(() => giveUp.abort(), GIVE_UP_AFTER_MS)
    const { statusCode, body } = await pool
      .request({
        method: 'GET',
        path,
        headers: { accept: 'text/event-stream', authorization },
        signal
      })
      .finally(() => clearTimeout(headLimit))
    if (statusCode !== 200) {
      // It may have no end.
      body.on('error', () => {}).destroy()
      return `answered with status ${statusCode}`
    }
    const openedAt = performance.now()
    const prove = setInterval(() => {
      if (performance.now() - Math.max(openedAt, view.verifiedUntil) > GIVE_UP_AFTER_MS) giveUp.abort()
      else postNonce()
    }, NONCE_EVERY_MS)
    try {
      const read = eventStreamReader()
      for await (const text of body.setEncoding('utf8')) {
        if (!applyEvents(read(text))) return 'an event does not fit to those before it'
      }
      return 'closed by the server'
    } finally {
      clearInterval(prove)
    }
  }

  function applyEvents(events: ReturnType<ReturnType<typeof eventStreamReader>>): boolean {
    for (const event of events ?? []) {
      const { verifiedUntil } = view
      if (!receive(view, event)) return false
      if (view.verifiedUntil > verifiedUntil) noteProof(view.verifiedUntil - LEASE_MS)
      if (event.event === 'opened') postNonce()
    }
    if (!isLive && isVerified(view, performance.now())) {
      isLive = true
      failures = 0
      log?.info({ event: 'revocation_feed_live' }, 'revocation feed live')
    }
    return events !== undefined
  }

  function noteProof(sentAt: number): void {
    verifiedAt = sentAt
    roundTripMs = performance.now() - sentAt
  }

  function postNonce(): void {
    const { stream } = view
    if (stream === undefined) return
    const nonce = randomBytes(16).toString('base64url')
    sendNonce(view, nonce, performance.now())
    pool
      .request({
        method: 'POST',
        path,
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
        body: `stream=${encodeURIComponent(stream.id)}&nonce=${nonce}`,
        bodyTimeout: HEAD_TIME_LIMIT_MS,
        signal: AbortSignal.timeout(HEAD_TIME_LIMIT_MS)
      })
      .then(({ body }) => body.dump())
      // Whatever it was: no proof comes back, and that is what counts.
      .catch(() => {})
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
