import type { Notification } from './notification.js'

/**
 * The rules of one LISTEN session: what it may vouch for, and what each notification becomes on the streams. Pure: the
 * caller brings the time (monotonic milliseconds) and carries out what is returned, in order.
 */
export type ListenSession = {
  epoch: string
  /** The newest pulse that came back was sent less than PROOF_MS before this. */
  verifiedUntil: number
  streams: Map<string, OpenStream>
}

/** `counter`: how many revocations were written to it. */
export type OpenStream = { readonly audience: string; readonly counter: number }

export type Frame = { stream: string; event: 'opened' | 'revoked' | 'proof'; id: string; data: object }

/** Whether what has ended may matter to the resource servers of this audience. */
export type Concerns = (audience: string) => boolean

/** How long a pulse vouches for the session, from the moment it was sent. */
export const PROOF_MS = 1_000

export function openSession(epoch: string): ListenSession {
  return { epoch, verifiedUntil: Number.NEGATIVE_INFINITY, streams: new Map() }
}

/** What to notify several times a second. It carries the time of sending, so that a late one vouches for less. */
export function pulsePayload(session: ListenSession, now: number): string {
  return JSON.stringify({ pulse: session.epoch, sent: now })
}

/** A guard's proof-of-life, on its way to whichever instance holds the stream. */
export function noncePayload(stream: string, nonce: string): string {
  return JSON.stringify({ stream, nonce })
}

/**
 * @param concerns of a user or a client that ended; a notification that names an audience needs none
 * @returns what to write on which stream
 */
export function receive(
  session: ListenSession,
  notification: Notification,
  now: number,
  concerns: Concerns = () => true
): Frame[] {
  switch (notification.kind) {
    case 'pulse':
      notePulse(session, notification, now)
      return []
    case 'nonce':
      return verifyStream(session, notification, now)
    case 'ended': {
      const { audience, ended } = notification
      return tell(session, ended, audience === undefined ? concerns : (each) => each === audience)
    }
    case 'reset':
      // It ends every stream: the caller does that at once, whatever else waits.
      return []
    case 'unreadable':
      return []
  }
}

export function isVerified(session: ListenSession, now: number): boolean {
  return now < session.verifiedUntil
}

/** Whether the session has been without proof for so long that it counts as lost; `openedAt` is when it began. */
export function isSilent(session: ListenSession, openedAt: number, now: number): boolean {
  return now - Math.max(session.verifiedUntil, openedAt + PROOF_MS) > PROOF_MS
}

export function openStream(session: ListenSession, stream: string, audience: string): Frame {
  session.streams.set(stream, { audience, counter: 0 })
  return { stream, event: 'opened', id: `${session.epoch}-0`, data: { stream } }
}

export function closeStream(session: ListenSession, stream: string): void {
  session.streams.delete(stream)
}

/** Proved or not: a revocation that is known is passed on. Each stream counts what was written to it. */
function tell({ epoch, streams }: ListenSession, ended: object, concerns: Concerns): Frame[] {
  const frames: Frame[] = []
  for (const [stream, { audience, counter }] of streams) {
    if (!concerns(audience)) continue
    streams.set(stream, { audience, counter: counter + 1 })
    frames.push({ stream, event: 'revoked', id: `${epoch}-${counter + 1}`, data: ended })
  }
  return frames
}

function verifyStream(
  session: ListenSession,
  { stream, nonce }: { stream: string; nonce: string },
  now: number
): Frame[] {
  const open = session.streams.get(stream)
  // An instance that cannot prove itself vouches for nobody.
  if (open === undefined || !isVerified(session, now)) return []
  return [{ stream, event: 'proof', id: `${session.epoch}-${open.counter}`, data: { nonce } }]
}

function notePulse(session: ListenSession, { epoch, sent }: { epoch: string; sent: unknown }, now: number): void {
  // Another process's clock says nothing here, and none of ours sends from the future.
  if (epoch !== session.epoch || typeof sent !== 'number' || sent > now) return
  session.verifiedUntil = Math.max(session.verifiedUntil, sent + PROOF_MS)
}
