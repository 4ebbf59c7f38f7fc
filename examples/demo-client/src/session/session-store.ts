import { randomBytes } from 'node:crypto'
import type { PendingFlow } from './pending-flows.js'

export type Tokens = Readonly<{
  accessToken: string
  refreshToken: string | undefined
  /** Milliseconds since the epoch; undefined where the server did not say. */
  expiresAt: number | undefined
}>

export type Renewal = { kind: 'renewed' } | { kind: 'ended' | 'unreachable'; cause: unknown }

/** What one person allowed. `renewal` is the refresh under way, so that parallel requests share it. */
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
  // A Map keeps the order of insertion and every use inserts anew, so the first entry is always the longest unused one.
  const sessions = new Map<string, Session>()

  function put(session: Session): Session {
    session.lastUsedAt = now()
    sessions.delete(session.id)
    sessions.set(session.id, session)
    return session
  }

  function makeRoom(): void {
    for (const oldest of sessions.values()) {
      if (sessions.size < capacity && !isOver(oldest)) return
      sessions.delete(oldest.id)
    }
  }

  const isOver = (session: Session): boolean => session.lastUsedAt + idleTime <= now()
  const newId = (): string => randomBytes(32).toString('base64url')

  return {
    create(): Session {
      makeRoom()
      const blank = { connection: undefined, notice: undefined, lastUsedAt: 0 }
      return put({ id: newId(), pendingFlows: new Map(), ...blank })
    },

    find(id: string): Session | undefined {
      const session = sessions.get(id)
      return session === undefined || isOver(session) ? undefined : put(session)
    },

    /** A new id for the same session: an id that was known before sign-in is worth nothing after it. */
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
