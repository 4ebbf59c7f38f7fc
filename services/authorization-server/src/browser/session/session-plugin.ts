import { FRESH_SIGN_IN_SECONDS } from '@valetkey/sign-in-rules'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { decryptText, encryptText } from '../../platform/encryption/encrypt-text.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { SessionRecord, SessionStore, SessionWay } from '../../storage/redis/sessions.js'
import { isFromAnotherOrigin } from '../csrf/check-form.js'
import type { CookiePolicy } from './cookies.js'
import { describeBrowser } from './describe-browser.js'
import { hashId, isRandomId, newRandomId } from './random-id.js'

/** The user who is signed in to this browser. */
export type SignedIn = {
  userId: string
  username: string
  userGeneration: number
  sessionGeneration: number
  sessionHash: string
  way: SessionWay
  /** Milliseconds since 1970; see `isFresh`. */
  authenticatedAt: number | undefined
  /** See `decryptIdToken`. */
  encryptedIdToken: string | undefined
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
    /**
     * The signed-in user. On a route that is registered with `verifiesSession`, undefined until `verifySession` has been
     * called.
     */
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
  /**
   * `SIGN_IN_AT_LEAST_EVERY` in seconds; 0: off. A session must not outlive it, or an app would get grants whose first refresh
   * is refused.
   */
  signInAtLeastEvery: number
  now: () => Date
}

/** Purpose of the encryption. */
const ID_TOKEN = 'id token of a session'
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
      if (!request.browserIsKnown && !isFormOfAnotherSite(request))
        reply.setCookie(cookies.names.browser, request.browserId, cookies.attributes)
      request.unverifiedSession = await findSession(request)
      if (request.routeOptions.config.verifiesSession !== true) await request.verifySession()
    })

    async function findSession(request: FastifyRequest): Promise<UnverifiedSession | undefined> {
      const sessionId = request.cookies[cookies.names.session]
      if (!isRandomId(sessionId)) return undefined
      const sessionHash = hashId(sessionId)
      const session = await sessions.findAndExtend(sessionHash)
      if (session === undefined || !isWithinLifetime(session, now())) return undefined
      return { ...session, sessionHash }
    }

    async function findSignedIn(session: UnverifiedSession): Promise<SignedIn | undefined> {
      const user = await users.findById(session.userId)
      // Disabling or deleting the user, a new password and signing out everywhere end all sessions.
      if (user === undefined || user.disabled || !isOfGeneration(session, user)) return undefined
      const { userGeneration, sessionGeneration, sessionHash, way, authenticatedAt, encryptedIdToken } = session
      const { userId, username } = user
      const generations = { userGeneration, sessionGeneration }
      return { userId, username, ...generations, sessionHash, way, authenticatedAt, encryptedIdToken }
    }
  },
  { name: 'valetkey-session', fastify: '5.x', dependencies: ['@fastify/cookie'] }
)

/** Such a form comes without our cookies, and the response must not replace them. `checkForm` refuses it. */
function isFormOfAnotherSite(request: FastifyRequest): boolean {
  return request.method === 'POST' && isFromAnotherOrigin(request)
}

/** A session from the future is refused, too: a process with a wrong clock must not open a session that never ends. */
function isWithinLifetime({ signedInAt, endsAt }: SessionRecord, now: Date): boolean {
  return signedInAt - now.getTime() <= MOST_AHEAD_MS && now.getTime() < endsAt
}

/** Whether the user gave a password, passkey or the like within the last five minutes. */
export function isFresh({ authenticatedAt }: Pick<SignedIn, 'authenticatedAt'>, now: Date): boolean {
  return authenticatedAt !== undefined && now.getTime() - authenticatedAt < FRESH_SIGN_IN_SECONDS * 1000
}

function isOfGeneration(session: SessionRecord, user: User): boolean {
  return session.userGeneration === user.generation && session.sessionGeneration === user.sessionGeneration
}

/** What a new session is about. */
export type NewSession = {
  user: Pick<User, 'userId' | 'generation' | 'sessionGeneration'>
  way: SessionWay
  authenticatedAt: Date | undefined
  /** Longest lifetime; a provider may set a shorter one. */
  maxSeconds?: number | undefined
  /** The token for signing out at the provider, too. */
  idToken?: string | undefined
}

/** Opens a session under a new id. Ends the earlier one: an id from before sign-in becomes invalid (session fixation). */
export async function openSession(
  request: FastifyRequest,
  reply: FastifyReply,
  { user, way, authenticatedAt, maxSeconds = MAX_SECONDS, idToken }: NewSession,
  { cookies, sessions, signInAtLeastEvery, now }: SessionOptions
): Promise<UnverifiedSession> {
  const sessionId = newRandomId()
  const signedInAt = now().getTime()
  const record: SessionRecord = {
    userId: user.userId,
    userGeneration: user.generation,
    sessionGeneration: user.sessionGeneration,
    way,
    signedInAt,
    authenticatedAt: authenticatedAt?.getTime(),
    endsAt: signedInAt + Math.min(maxSeconds, MAX_SECONDS, signInAtLeastEvery || MAX_SECONDS) * 1000,
    browser: describeBrowser(request.headers['user-agent']),
    encryptedIdToken: idToken && encryptText(idToken, sessionId, ID_TOKEN).toString('base64url')
  }
  const sessionHash = hashId(sessionId)
  await sessions.open(sessionHash, record)
  await closeSession(request, sessions)
  reply.setCookie(cookies.names.session, sessionId, cookies.attributes)
  return { ...record, sessionHash }
}

/** The ID token with which the session began. Only the cookie of the session decrypts it. */
export function decryptIdToken(
  request: FastifyRequest,
  { cookies }: Pick<SessionOptions, 'cookies'>
): string | undefined {
  const sessionId = request.cookies[cookies.names.session]
  const encrypted = request.signedIn?.encryptedIdToken
  if (sessionId === undefined || encrypted === undefined) return undefined
  return decryptText(Buffer.from(encrypted, 'base64url'), sessionId, ID_TOKEN)
}

/** Ends the session in the store, so that every copy of its cookie is invalid. */
export async function closeSession(request: FastifyRequest, sessions: SessionStore): Promise<void> {
  const { signedIn } = request
  if (signedIn !== undefined) await sessions.close(signedIn.userId, signedIn.sessionHash)
}
