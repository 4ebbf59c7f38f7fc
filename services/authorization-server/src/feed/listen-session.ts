/**
 * The rules of one LISTEN session: what it may vouch for, and what each notification becomes on the streams. Pure: the
 * caller brings the time (monotonic milliseconds) and carries out what is returned, in order.
 */
export type ListenSession = {
  epoch: string
  /** How many revocations Postgres has delivered in this epoch. */
  counter: number
  /** The newest pulse that came back was sent less than PROOF_MS before this. */
  provedUntil: number
  streams: Set<string>
}

export type Frame = { stream: 'all' | string; event: 'revoked' | 'proof'; id: string; data: object }
export type OpenedFrame = { stream: string; event: 'opened'; id: string; data: { stream: string } }

/** How long a pulse vouches for the session, from the moment it was sent. */
export const PROOF_MS = 1_000

const OWN_MEMBERS = ['pulse', 'sent', 'stream', 'nonce']

export function openSession(epoch: string): ListenSession {
  return { epoch, counter: 0, provedUntil: Number.NEGATIVE_INFINITY, streams: new Set() }
}

/** What to notify several times a second. It carries the time of sending, so that a late one vouches for less. */
export function pulsePayload(session: ListenSession, now: number): string {
  return JSON.stringify({ pulse: session.epoch, sent: now })
}

/** A guard's proof-of-life, on its way to whichever instance holds the stream. */
export function noncePayload(stream: string, nonce: string): string {
  return JSON.stringify({ stream, nonce })
}

/** @returns what to write on which stream */
export function receive(session: ListenSession, payload: string, now: number): Frame[] {
  const message = parse(payload)
  if (isText(message.pulse)) {
    notePulse(session, message, now)
    return []
  }
  if (isText(message.stream) && isText(message.nonce)) {
    // An instance that cannot prove itself vouches for nobody.
    if (!session.streams.has(message.stream) || !isProved(session, now)) return []
    return [{ stream: message.stream, event: 'proof', id: lastId(session), data: { nonce: message.nonce } }]
  }
  const [member, ...others] = Object.keys(message)
  const value = member === undefined ? undefined : message[member]
  // A member that this release does not know as well: guards that do not know it either drop all they keep.
  if (member === undefined || others.length > 0 || !isText(value) || OWN_MEMBERS.includes(member)) return []
  session.counter += 1
  // Proved or not: a revocation that is known is passed on.
  return [{ stream: 'all', event: 'revoked', id: lastId(session), data: { [member]: value } }]
}

export function isProved(session: ListenSession, now: number): boolean {
  return now < session.provedUntil
}

/** Whether the session has been without proof for so long that it counts as lost; `openedAt` is when it began. */
export function isSilent(session: ListenSession, openedAt: number, now: number): boolean {
  return now - Math.max(session.provedUntil, openedAt + PROOF_MS) > PROOF_MS
}

export function openStream(session: ListenSession, stream: string): OpenedFrame {
  session.streams.add(stream)
  return { stream, event: 'opened', id: lastId(session), data: { stream } }
}

export function closeStream(session: ListenSession, stream: string): void {
  session.streams.delete(stream)
}

function notePulse(session: ListenSession, { pulse, sent }: Record<string, unknown>, now: number): void {
  // Another process's clock says nothing here, and none of ours sends from the future.
  if (pulse !== session.epoch || typeof sent !== 'number' || sent > now) return
  session.provedUntil = Math.max(session.provedUntil, sent + PROOF_MS)
}

function lastId({ epoch, counter }: ListenSession): string {
  return `${epoch}-${counter}`
}

function parse(payload: string): Record<string, unknown> {
  try {
    const message: unknown = JSON.parse(payload)
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? { ...message } : {}
  } catch {
    return {}
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
