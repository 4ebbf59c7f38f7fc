import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { SessionRecord, SessionStore } from '../../storage/redis/sessions.js'
import type { CookiePolicy } from './cookies.js'
import { hashId, isRandomId, newRandomId } from './random-id.js'

/** The user who is signed in to this browser. */
export type SignedIn = {
  userId: string
  username: string
  userGeneration: number
  sessionGeneration: number
  sessionHash: string
}

/** The session that the cookie names. The user may have ended it; Postgres decides whether it is still valid. */
export type UnverifiedSession = SessionRecord & { sessionHash: string }

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every page: a new browser gets an id with the response. */
    browserId: string
    /** The browser sent its id. If not, it cannot own a form or a pending authorization request. */
    browserIsKnown: boolean
    unverifiedSession: UnverifiedSession | undefined
    /** On a route that is registered with `verifiesSession`, undefined until `verifySession` has been called. */
    signedIn: SignedIn | undefined
    /** Verifies the session against Postgres and sets `signedIn`. */
    verifySession(): Promise<SignedIn | undefined>
  }

  interface FastifyContextConfig {
    /** The route verifies the session itself. Until then `signedIn` is undefined. */
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
/** The clocks of two ready processes differ by less than this. */
const MOST_AHEAD_MS = 60_000

/** Finds the browser id and the session of every request in the scope that it is registered in. */
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
      const sessionHash = hashId(sessionId)
      const session = await sessions.findAndExtend(sessionHash, IDLE_SECONDS)
      if (session === undefined || !isWithinLifetime(session, now())) return undefined
      return { ...session, sessionHash }
    }

    async function findSignedIn(session: UnverifiedSession): Promise<SignedIn | undefined> {
      const user = await users.findById(session.userId)
      // Disabling or deleting the user, a new password and signing out everywhere end all sessions.
      if (user === undefined || user.disabled || !isOfGeneration(session, user)) return undefined
      const { userGeneration, sessionGeneration, sessionHash } = session
      return { userId: user.userId, username: user.username, userGeneration, sessionGeneration, sessionHash }
    }
  },
  { name: 'valetkey-session', fastify: '5.x', dependencies: ['@fastify/cookie'] }
)

/** A session from the future is refused, too: a process with a wrong clock must not open a session that never ends. */
function isWithinLifetime({ signedInAt }: SessionRecord, now: Date): boolean {
  const ageMs = now.getTime() - signedInAt
  return ageMs >= -MOST_AHEAD_MS && ageMs < MAX_SECONDS * 1000
}

function isOfGeneration(session: SessionRecord, user: User): boolean {
  return session.userGeneration === user.generation && session.sessionGeneration === user.sessionGeneration
}

/** Opens a session under a new id. Ends the earlier one: an id from before sign-in becomes invalid (session fixation). */
export async function openSession(
  request: FastifyRequest,
  reply: FastifyReply,
  user: Pick<User, 'userId' | 'generation' | 'sessionGeneration'>,
  { cookies, sessions, now }: SessionOptions
): Promise<UnverifiedSession> {
  const sessionId = newRandomId()
  const { userId, generation, sessionGeneration } = user
  const record = { userId, userGeneration: generation, sessionGeneration, signedInAt: now().getTime() }
  const sessionHash = hashId(sessionId)
  await sessions.open(sessionHash, record, IDLE_SECONDS)
  await closeSession(request, sessions)
  reply.setCookie(cookies.names.session, sessionId, cookies.attributes)
  return { ...record, sessionHash }
}

/** Ends the session in the store, so that every copy of its cookie is invalid. */
export async function closeSession(request: FastifyRequest, sessions: SessionStore): Promise<void> {
  const { signedIn } = request
  if (signedIn !== undefined) await sessions.close(signedIn.userId, signedIn.sessionHash)
}
