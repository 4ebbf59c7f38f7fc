/**
 * What one guard knows of revocations. Pure functions over a plain record, so that a test can try every order of events
 * (docs/adr/0015-revocation-feed.md). Times are milliseconds of a monotonic clock.
 *
 * A cached result may be used if three conditions hold:
 * 1. The feed is verified: a nonce that the guard sent less than two seconds ago came back, after every event that was
 *    committed before it.
 * 2. The introspection call began after the current stream was opened, so no event was missed.
 * 3. No event since the call began named the result's token, grant, user or client.
 */
export type RevocationView = {
  stream: { id: string; epoch: string; counter: number } | undefined
  /** End of the lease: until then the feed is verified. */
  verifiedUntil: number
  /** When each nonce was sent that has not come back. */
  nonces: Map<string, number>
  /** Counts everything that may invalidate results. A mark is its value when a call began. */
  sequence: number
  /** Results with a mark below this are invalid. */
  oldestValidMark: number
  /** What was revoked, by name, and its number in the sequence; the oldest first. */
  revocations: Map<string, number>
}

/** Taken when an introspection call begins; decides later whether its result may be cached and used. */
export type Mark = { sequence: number; wasVerified: boolean }

/** One event of the feed, as received. */
export type FeedEvent = { event: string; id: string; data: string }

export const LEASE_MS = 2_000
const MAX_NONCES = 8
const MAX_REVOCATIONS = 20_000
const NAMES = ['jti', 'grant_id', 'sub', 'client_id'] as const

export function emptyView(): RevocationView {
  return {
    stream: undefined,
    verifiedUntil: 0,
    nonces: new Map(),
    sequence: 0,
    oldestValidMark: 0,
    revocations: new Map()
  }
}

/** The view of a guard without a feed: cached results are valid until they expire. */
export function viewWithoutFeed(): RevocationView {
  return { ...emptyView(), verifiedUntil: Number.POSITIVE_INFINITY }
}

export function isVerified(view: RevocationView, now: number): boolean {
  return now < view.verifiedUntil
}

export function beginCall(view: RevocationView, now: number): Mark {
  return { sequence: view.sequence, wasVerified: isVerified(view, now) }
}

/** Whether no event since the mark revoked a result with these names. */
export function isUnrevoked(view: RevocationView, mark: Mark, names: readonly string[]): boolean {
  if (mark.sequence < view.oldestValidMark) return false
  return names.every((name) => (view.revocations.get(name) ?? 0) <= mark.sequence)
}

/** Records a nonce. To be called before the nonce is sent, so that the lease never starts too late. */
export function addNonce(view: RevocationView, nonce: string, now: number): void {
  view.nonces.set(nonce, now)
  for (const oldest of view.nonces.keys()) {
    if (view.nonces.size <= MAX_NONCES) break
    view.nonces.delete(oldest)
  }
}

/**
 * The connection broke. The lease runs to its end, because it covers only events that had already arrived. The next
 * stream invalidates all earlier results.
 */
export function disconnect(view: RevocationView): void {
  view.stream = undefined
  view.nonces.clear()
}

/** The server ended the stream, or sent something inconsistent: ends the lease and invalidates all results. */
export function resetView(view: RevocationView): void {
  disconnect(view)
  view.verifiedUntil = 0
  invalidateResults(view)
}

/**
 * Applies one event.
 * @returns false if it is inconsistent with earlier events; the caller must then end the connection
 */
export function applyEvent(view: RevocationView, { event, id, data }: FeedEvent): boolean {
  const at = parseId(id)
  const members = parseData(data)
  if (at === undefined || members === undefined) return false
  if (event === 'opened') return applyOpened(view, at, members)
  if (view.stream === undefined || view.stream.epoch !== at.epoch) return false
  if (event === 'revoked') return applyRevoked(view, at.counter, members)
  // Other events carry the number of the newest revocation, so a lost revocation is noticed at the next proof.
  if (view.stream.counter !== at.counter) return false
  if (event === 'proof') applyProof(view, members.nonce)
  return true
}

function applyOpened(view: RevocationView, at: { epoch: string; counter: number }, { stream }: Members): boolean {
  if (view.stream !== undefined || typeof stream !== 'string') return false
  view.stream = { id: stream, ...at }
  invalidateResults(view)
  return true
}

function applyRevoked(view: RevocationView, counter: number, members: Members): boolean {
  if (view.stream === undefined || counter !== view.stream.counter + 1) return false
  view.stream.counter = counter
  view.sequence += 1
  const names = NAMES.filter((name) => typeof members[name] === 'string')
  // This release does not know the kind of the revoked object, so any result may be affected.
  if (names.length === 0) view.oldestValidMark = view.sequence
  for (const name of names) addRevocation(view, `${name}:${members[name]}`)
  return true
}

function addRevocation(view: RevocationView, name: string): void {
  view.revocations.delete(name)
  view.revocations.set(name, view.sequence)
  if (view.revocations.size <= MAX_REVOCATIONS) return
  const [oldest] = view.revocations
  if (oldest === undefined) return
  // Older results can no longer be compared with this revocation.
  view.revocations.delete(oldest[0])
  view.oldestValidMark = Math.max(view.oldestValidMark, oldest[1])
}

function applyProof(view: RevocationView, nonce: unknown): void {
  const sentAt = typeof nonce === 'string' ? view.nonces.get(nonce) : undefined
  if (sentAt === undefined) return
  view.nonces.delete(nonce as string)
  view.verifiedUntil = Math.max(view.verifiedUntil, sentAt + LEASE_MS)
}

function invalidateResults(view: RevocationView): void {
  view.sequence += 1
  view.oldestValidMark = view.sequence
  view.revocations.clear()
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

/** `<epoch>-<counter>`; the epoch may contain hyphens. */
function parseId(id: string): { epoch: string; counter: number } | undefined {
  const match = /^(.+)-(\d{1,15})$/.exec(id)
  return match?.[1] === undefined ? undefined : { epoch: match[1], counter: Number(match[2]) }
}
