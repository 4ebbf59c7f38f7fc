import type { Notification } from './notification.js'

/**
 * The rules of one LISTEN session: when it is verified, and which events each notification causes on the streams. Pure: the
 * caller passes the time (monotonic milliseconds) and writes the returned events, in order.
 */
export type ListenSession = {
  epoch: string
  /** `PROOF_MS` after the newest returned pulse was sent. */
  verifiedUntil: number
  streams: Map<string, OpenStream>
}

/** `counter`: number of revocation events that were written to the stream. */
type OpenStream = { readonly audience: string; readonly counter: number }

export type Frame = { stream: string; event: 'opened' | 'revoked' | 'proof'; id: string; data: object }

/** Whether a revocation may affect the resource servers of this audience. */
export type Concerns = (audience: string) => boolean

/** How long a returned pulse verifies the session, from the time when it was sent. */
export const PROOF_MS = 1_000

export function openSession(epoch: string): ListenSession {
  return { epoch, verifiedUntil: Number.NEGATIVE_INFINITY, streams: new Map() }
}

/** The payload of a pulse. It has the time of sending, so a pulse that returns late verifies the session for less time. */
export function pulsePayload(session: ListenSession, now: number): string {
  return JSON.stringify({ pulse: session.epoch, sent: now })
}

/** The payload that carries a guard's nonce to the instance that has the stream. */
export function noncePayload(stream: string, nonce: string): string {
  return JSON.stringify({ stream, nonce })
}

/**
 * @param isAffected for a notification about a user or client; a notification with an audience does not need it
 * @returns the events to write, with their streams
 */
export function receive(
  session: ListenSession,
  notification: Notification,
  now: number,
  isAffected: Concerns = () => true
): Frame[] {
  switch (notification.kind) {
    case 'pulse':
      notePulse(session, notification, now)
      return []
    case 'nonce':
      return verifyStream(session, notification, now)
    case 'ended': {
      const { audience, ended } = notification
      return sendRevocation(session, ended, audience === undefined ? isAffected : (each) => each === audience)
    }
    case 'reset':
      // The caller ends every stream at once, before other notifications.
      return []
    case 'unreadable':
      return []
  }
}

export function isVerified(session: ListenSession, now: number): boolean {
  return now < session.verifiedUntil
}

/** Whether the session had no proof for so long that it counts as lost. */
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

/** Sends a revocation, also without verification: a known revocation is always forwarded. */
function sendRevocation({ epoch, streams }: ListenSession, ended: object, isAffected: Concerns): Frame[] {
  const frames: Frame[] = []
  for (const [stream, { audience, counter }] of streams) {
    if (!isAffected(audience)) continue
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
  // Without a verified session, this instance may have missed revocations, so it sends no proof.
  if (open === undefined || !isVerified(session, now)) return []
  return [{ stream, event: 'proof', id: `${session.epoch}-${open.counter}`, data: { nonce } }]
}

function notePulse(session: ListenSession, { epoch, sent }: { epoch: string; sent: unknown }, now: number): void {
  // A pulse of another process has another clock, and a pulse from the future cannot be ours.
  if (epoch !== session.epoch || typeof sent !== 'number' || sent > now) return
  session.verifiedUntil = Math.max(session.verifiedUntil, sent + PROOF_MS)
}
