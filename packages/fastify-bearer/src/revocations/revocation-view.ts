/**
 * What one guard knows of revocations: pure decisions over a plain record, so that a test can drive them through every
 * order of events (docs/adr/0015-revocation-feed.md). Times are milliseconds of a monotonic clock.
 *
 * Three rules make a kept answer safe to use:
 * 1. The feed is proved: a nonce that we sent less than two seconds ago came back behind everything committed before it.
 * 2. The answer belongs to this connection: its call began after the stream was opened, so that no event was missed.
 * 3. No event since its call began named its token, grant, user or client.
 */
export type RevocationView = {
  stream: { id: string; epoch: string; counter: number } | undefined
  /** The lease: until then the feed is proved. */
  verifiedUntil: number
  /** When each nonce that is still out was sent. */
  nonces: Map<string, number>
  /** Counts everything that may end an answer; an answer remembers where it stood when its call began. */
  sequence: number
  /** Answers whose call began before this are worth nothing. */
  floor: number
  /** What has died, by name, and its number in the sequence; the oldest first. */
  deaths: Map<string, number>
}

/** Taken when a call begins: decides later whether its answer may be kept. */
export type Mark = { sequence: number; proved: boolean }

/** One event of the feed, as it came. */
export type FeedEvent = { event: string; id: string; data: string }

export const LEASE_MS = 2_000
const MOST_NONCES = 8
const MOST_DEATHS = 20_000
const NAMES = ['jti', 'grant_id', 'sub', 'client_id'] as const

export function emptyView(): RevocationView {
  return { stream: undefined, verifiedUntil: 0, nonces: new Map(), sequence: 0, floor: 0, deaths: new Map() }
}

/** The view of a guard without a feed: whatever is kept is good until its time-to-live ends. */
export function viewWithoutFeed(): RevocationView {
  return { ...emptyView(), verifiedUntil: Number.POSITIVE_INFINITY }
}

export function isVerified(view: RevocationView, now: number): boolean {
  return now < view.verifiedUntil
}

export function beginCall(view: RevocationView, now: number): Mark {
  return { sequence: view.sequence, proved: isVerified(view, now) }
}

/** Whether an answer is still what its server would say, as far as the events tell that have arrived. */
export function stands(view: RevocationView, mark: Mark, names: readonly string[]): boolean {
  if (mark.sequence < view.floor) return false
  return names.every((name) => (view.deaths.get(name) ?? 0) <= mark.sequence)
}

/** A nonce is about to be sent, now and not a moment later than that. */
export function sendNonce(view: RevocationView, nonce: string, now: number): void {
  view.nonces.set(nonce, now)
  for (const oldest of view.nonces.keys()) {
    if (view.nonces.size <= MOST_NONCES) break
    view.nonces.delete(oldest)
  }
}

/**
 * The connection broke. The lease runs to its end: it says what had arrived when its nonce was sent, and that stays true.
 * The next stream ends every answer from before it.
 */
export function interrupt(view: RevocationView): void {
  view.stream = undefined
  view.nonces.clear()
}

/** The server ended the stream, or it cannot be trusted: nothing that was kept may be used again. */
export function loseStream(view: RevocationView): void {
  interrupt(view)
  view.verifiedUntil = 0
  forgetAnswers(view)
}

/**
 * Takes in one event.
 * @returns false when it does not fit to what came before it; the caller then gives this connection up
 */
export function receive(view: RevocationView, { event, id, data }: FeedEvent): boolean {
  const at = parseId(id)
  const members = parseData(data)
  if (at === undefined || members === undefined) return false
  if (event === 'opened') return open(view, at, members)
  if (view.stream === undefined || view.stream.epoch !== at.epoch) return false
  if (event === 'revoked') return revoke(view, at.counter, members)
  // An event of another kind has the number of the newest revocation: so a lost one is noticed at the next proof.
  if (view.stream.counter !== at.counter) return false
  if (event === 'proof') prove(view, members.nonce)
  return true
}

function open(view: RevocationView, at: { epoch: string; counter: number }, { stream }: Members): boolean {
  if (view.stream !== undefined || typeof stream !== 'string') return false
  view.stream = { id: stream, ...at }
  forgetAnswers(view)
  return true
}

function revoke(view: RevocationView, counter: number, members: Members): boolean {
  if (view.stream === undefined || counter !== view.stream.counter + 1) return false
  view.stream.counter = counter
  view.sequence += 1
  const dead = NAMES.filter((name) => typeof members[name] === 'string')
  // Something died that this release has no word for: it may be anything.
  if (dead.length === 0) view.floor = view.sequence
  for (const name of dead) markRevoked(view, `${name}:${members[name]}`)
  return true
}

function markRevoked(view: RevocationView, name: string): void {
  view.deaths.delete(name)
  view.deaths.set(name, view.sequence)
  if (view.deaths.size <= MOST_DEATHS) return
  const [oldest] = view.deaths
  if (oldest === undefined) return
  // Answers from before this death can no longer be checked against it.
  view.deaths.delete(oldest[0])
  view.floor = Math.max(view.floor, oldest[1])
}

function prove(view: RevocationView, nonce: unknown): void {
  const sentAt = typeof nonce === 'string' ? view.nonces.get(nonce) : undefined
  if (sentAt === undefined) return
  view.nonces.delete(nonce as string)
  view.verifiedUntil = Math.max(view.verifiedUntil, sentAt + LEASE_MS)
}

function forgetAnswers(view: RevocationView): void {
  view.sequence += 1
  view.floor = view.sequence
  view.deaths.clear()
}

type Members = Partial<Record<(typeof NAMES)[number] | 'stream' | 'nonce', unknown>>

function parseData(data: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** `<epoch>-<counter>`; the epoch may hold hyphens itself. */
function parseId(id: string): { epoch: string; counter: number } | undefined {
  const match = /^(.+)-(\d{1,15})$/.exec(id)
  return match?.[1] === undefined ? undefined : { epoch: match[1], counter: Number(match[2]) }
}
