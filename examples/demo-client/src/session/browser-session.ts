import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Session, SessionStore } from './session-store.js'

export type BrowserSessions = ReturnType<typeof browserSessions>

/** Ties a browser to its session by one cookie, the only thing that this app ever stores in a browser. */
export function browserSessions(store: SessionStore, options: { secure: boolean }) {
  const cookieName = options.secure ? '__Host-photo_printer' : 'photo_printer'

  function give(reply: FastifyReply, session: Session): Session {
    // Lax, not Strict: the way back from the authorization server is a cross-site navigation and needs the cookie.
    reply.setCookie(cookieName, session.id, { path: '/', httpOnly: true, sameSite: 'lax', secure: options.secure })
    return session
  }

  function find(request: FastifyRequest): Session | undefined {
    const id = request.cookies[cookieName]
    return id === undefined ? undefined : store.find(id)
  }

  return {
    find,

    /** The browser's session, created if it has none. */
    open: (request: FastifyRequest, reply: FastifyReply): Session => find(request) ?? give(reply, store.create()),

    changeId(session: Session, reply: FastifyReply): void {
      store.changeId(session)
      give(reply, session)
    },

    /** Deletes the session and creates an empty one. */
    startOver(session: Session, reply: FastifyReply): Session {
      store.forget(session)
      return give(reply, store.create())
    }
  }
}
