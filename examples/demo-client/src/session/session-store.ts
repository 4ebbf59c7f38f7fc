import { randomBytes } from 'node:crypto'
import type { PendingFlow } from './pending-flows.js'

export type Tokens = Readonly<{
  accessToken: string
  refreshToken: string | undefined
  /** Milliseconds since the epoch; undefined if the server did not send it. */
  expiresAt: number | undefined
}>

export type Renewal = { kind: 'renewed' } | { kind: 'ended' | 'unreachable'; cause: unknown }

/** The tokens of a user. `renewal` is the refresh in progress, which concurrent requests share. */
export type Connection = { tokens: Tokens; renewal: Promise<Renewal> | undefined }

export type Session = {
  id: string
  lastUsedAt: number
  readonly pendingFlows: Map<string, PendingFlow>
  connection: Connection | undefined
  /** Shown once, on the next page. */
  notice: string | undefined
}

export type SessionStore = ReturnType<typeof memorySessions>

/**
 * Tokens stay here, in the memory of the server, and the browser holds only a random name for them. Bounded in number
 * and in time, because anonymous users can create sessions; an app with several processes needs a shared store.
 */
export function memorySessions(now: () => number, { capacity = 5_000, idleTime = 8 * 60 * 60_000 } = {}) {
  // A Map keeps the order of insertion and every use inserts again, so the first entry is the least recently used.
  const sessions = new Map<string, Session>()

  function put(session: Session): Session {
    session.lastUsedAt = now()
    sessions.delete(session.id)
    sessions.set(session.id, session)
    return session
  }

  function makeRoom(): void {
    for (const oldest of sessions.values()) {
      if (sessions.size < capacity && !hasEnded(oldest)) return
      sessions.delete(oldest.id)
    }
  }

  const hasEnded = (session: Session): boolean => session.lastUsedAt + idleTime <= now()
  const newId = (): string => randomBytes(32).toString('base64url')

  return {
    create(): Session {
      makeRoom()
      const blank = { connection: undefined, notice: undefined, lastUsedAt: 0 }
      return put({ id: newId(), pendingFlows: new Map(), ...blank })
    },

    find(id: string): Session | undefined {
      const session = sessions.get(id)
      return session === undefined || hasEnded(session) ? undefined : put(session)
    },

    /** A new id for the same session, so that an id known before the sign-in is invalid after it. */
    changeId(session: Session): void {
      sessions.delete(session.id)
      session.id = newId()
      put(session)
    },

    forget(session: Session): void {
      sessions.delete(session.id)
    },

    size: (): number => sessions.size
  }
}
