import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'

/** The tokens of a user, and the refresh in progress, which concurrent requests share. */
export type Connection = {
  accessToken: string
  refreshToken: string | undefined
  expiresAt: number
  renewal?: Promise<void> | undefined
}

/** What this server knows about a browser. The browser has only the random id of its session. */
export type Session = {
  /** The PKCE verifiers of flows without a response, by state: each tab is a flow of its own. */
  readonly flows: LRUCache<string, string>
  connection?: Connection | undefined
  /** Shown once, on the start page. */
  notice?: string | undefined
}

export type Sessions = ReturnType<typeof memorySessions>

/** Limited in number and in time, because anonymous users create sessions. Several processes need a shared store. */
export function memorySessions({ secure, max }: { secure: boolean; max: number }) {
  const clock = { perf: Date, ttlResolution: 0 }
  const sessions = new LRUCache<string, Session>({ max, ttl: 8 * 60 * 60_000, updateAgeOnGet: true, ...clock })
  const cookieName = secure ? '__Host-photo_printer' : 'photo_printer'
  const idOf = (request: FastifyRequest): string => request.cookies[cookieName] ?? ''

  function find(request: FastifyRequest): Session | undefined {
    return sessions.get(idOf(request))
  }

  /** Gives the session a new id, so that an id known before the sign-in is invalid after it. */
  function changeId(request: FastifyRequest, reply: FastifyReply, session: Session): Session {
    sessions.delete(idOf(request))
    const id = randomBytes(32).toString('base64url')
    sessions.set(id, session)
    // Lax, not Strict: the return from the authorization server is a cross-site navigation and needs the cookie.
    reply.setCookie(cookieName, id, { path: '/', httpOnly: true, sameSite: 'lax', secure })
    return session
  }

  /** The browser's session, created if it has none. */
  function open(request: FastifyRequest, reply: FastifyReply): Session {
    const blank = () => ({ flows: new LRUCache<string, string>({ max: 10, ttl: 15 * 60_000, ...clock }) })
    return find(request) ?? changeId(request, reply, blank())
  }

  return { find, open, changeId }
}
