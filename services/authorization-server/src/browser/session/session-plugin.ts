import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { SessionRecord, SessionStore } from '../../storage/redis/sessions.js'
import type { CookiePolicy } from './cookies.js'
import { digestId, isRandomId, newRandomId } from './random-id.js'

/** Who is signed in in this browser. */
export type SignedIn = {
  userId: string
  username: string
  userGeneration: number
  sessionGeneration: number
  sessionDigest: string
}

/** What a browser's cookie opened. Whether it is alive only Postgres knows: its user may have ended it. */
export type UnverifiedSession = SessionRecord & { sessionDigest: string }

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every page: a new browser gets an id with the answer. */
    browserId: string
    /** The browser brought its id along. If not, it cannot own any form or held request. */
    browserIsKnown: boolean
    unverifiedSession: UnverifiedSession | undefined
    /** On a route that is registered with `verifiesSession` it is there when `verifySession` has been called. */
    signedIn: SignedIn | undefined
    /** Looks up whether the session is alive, and sets `signedIn`. */
    verifySession(): Promise<SignedIn | undefined>
  }

  interface FastifyContextConfig {
    /** The route proves the session itself, where it needs to; until then nobody is signed in. */
    verifiesSession?: boolean
  }
}

export type SessionOptions = {
  cookies: CookiePolicy
  sessions: SessionStore
  users: Pick<UserStore, 'findById' | 'endSessions'>
  now: () => Date
}

const IDLE_SECONDS = 12 * 3600
const MAX_SECONDS = 7 * 86_400
/** By how much two processes may differ that both are ready. */
const MOST_AHEAD_MS = 60_000

/** Knows the browser and its session on every page of the scope that it is registered in. */
export const sessionPlugin = fastifyPlugin<SessionOptions>(
  async (pages, { cookies, sessions, users, now }) => {
    pages.decorateRequest('browserId', '')
    pages.decorateRequest('browserIsKnown', false)
    pages.decorateRequest('unverifiedSession', undefined)
    pages.decorateRequest('signedIn', undefined)
    pages.decorateRequest('verifySession', async function (this: FastifyRequest) {
      this.signedIn = this.unverifiedSession && (await findSignedIn(this.unverifiedSession))
      return this.signedIn
    })

    pages.addHook('onRequest', async (request, reply) => {
      const browserId = request.cookies[cookies.names.browser]
      request.browserIsKnown = isRandomId(browserId)
      request.browserId = isRandomId(browserId) ? browserId : newRandomId()
      if (!request.browserIsKnown) reply.setCookie(cookies.names.browser, request.browserId, cookies.attributes)
      request.unverifiedSession = await findSession(request)
      if (request.routeOptions.config.verifiesSession !== true) await request.verifySession()
    })

    async function findSession(request: FastifyRequest): Promise<UnverifiedSession | undefined> {
      const sessionId = request.cookies[cookies.names.session]
      if (!isRandomId(sessionId)) return undefined
      const sessionDigest = digestId(sessionId)
      const session = await sessions.findAndExtend(sessionDigest, IDLE_SECONDS)
      if (session === undefined || !isWithinLife(session, now())) return undefined
      return { ...session, sessionDigest }
    }

    async function findSignedIn(session: UnverifiedSession): Promise<SignedIn | undefined> {
      const user = await users.findById(session.userId)
      // A disabled user, a deleted one, one with a new password and one who signed out everywhere have no sessions.
      if (user === undefined || user.disabled || !isOfGeneration(session, user)) return undefined
      const { userGeneration, sessionGeneration, sessionDigest } = session
      return { userId: user.userId, username: user.username, userGeneration, sessionGeneration, sessionDigest }
    }
  },
  { name: 'valetkey-session', fastify: '5.x', dependencies: ['@fastify/cookie'] }
)

/** Not one from the future either: a process with a wrong clock cannot open a session that never ends. */
function isWithinLife({ signedInAt }: SessionRecord, now: Date): boolean {
  const ageMs = now.getTime() - signedInAt
  return ageMs >= -MOST_AHEAD_MS && ageMs < MAX_SECONDS * 1000
}

function isOfGeneration(session: SessionRecord, user: User): boolean {
  return session.userGeneration === user.generation && session.sessionGeneration === user.sessionGeneration
}

/** Starts a session under a new id and ends the one before it: an id from before the sign-in is worth nothing after. */
export async function openSession(
  request: FastifyRequest,
  reply: FastifyReply,
  user: Pick<User, 'userId' | 'generation' | 'sessionGeneration'>,
  { cookies, sessions, now }: SessionOptions
): Promise<void> {
  const sessionId = newRandomId()
  const { userId, generation, sessionGeneration } = user
  const record = { userId, userGeneration: generation, sessionGeneration, signedInAt: now().getTime() }
  await sessions.open(digestId(sessionId), record, IDLE_SECONDS)
  await closeSession(request, sessions)
  reply.setCookie(cookies.names.session, sessionId, cookies.attributes)
}

/** Ends the session on the server; the cookie left behind opens nothing. */
export async function closeSession(request: FastifyRequest, sessions: SessionStore): Promise<void> {
  const { signedIn } = request
  if (signedIn !== undefined) await sessions.close(signedIn.userId, signedIn.sessionDigest)
}
