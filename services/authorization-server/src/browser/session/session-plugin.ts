import { FRESH_SIGN_IN_SECONDS } from '@valetkey/sign-in-rules'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { decryptText, encryptText } from '../../platform/encryption/encrypt-text.js'
import type { Usage } from '../../platform/usage.js'
import type { OpenedSession, SessionStore, SessionWay } from '../../storage/postgres/sessions.js'
import type { UserStore } from '../../storage/postgres/users.js'
import { isFromAnotherOrigin } from '../csrf/check-form.js'
import type { CookiePolicy } from './cookies.js'
import { describeBrowser } from './describe-browser.js'
import { hashId, isRandomId, newRandomId } from './random-id.js'

/** The user who is signed in to this browser. */
export type SignedIn = {
  userId: string
  username: string
  sessionHash: string
  way: SessionWay
  /** Milliseconds since 1970; see `isFresh`. */
  authenticatedAt: number | undefined
  /** The session ends then, even if it is in use. */
  endsAt: Date
  /** See `decryptIdToken`. */
  encryptedIdToken: Buffer | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every page: a new browser gets an id with the response. */
    browserId: string
    /** The browser sent its id. If not, it cannot own a form or a pending authorization request. */
    browserIsKnown: boolean
    /** The hash of the session id in the cookie. The session may have ended; Postgres decides whether it is valid. */
    sessionHash: string | undefined
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
  users: Pick<UserStore, 'endSessions'>
  /** Notes that sessions are in use, in the background. */
  sessionUses: Pick<Usage, 'note'>
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

/** Finds the browser id and the session of every request in the scope that it is registered in. */
export const sessionPlugin = fastifyPlugin<SessionOptions>(
  async (pages, { cookies, sessions, sessionUses }) => {
    pages.decorateRequest('browserId', '')
    pages.decorateRequest('browserIsKnown', false)
    pages.decorateRequest('sessionHash', undefined)
    pages.decorateRequest('signedIn', undefined)
    pages.decorateRequest('verifySession', async function (this: FastifyRequest) {
      this.signedIn = this.sessionHash === undefined ? undefined : await findSignedIn(this.sessionHash)
      return this.signedIn
    })

    pages.addHook('onRequest', async (request, reply) => {
      const browserId = request.cookies[cookies.names.browser]
      request.browserIsKnown = isRandomId(browserId)
      request.browserId = isRandomId(browserId) ? browserId : newRandomId()
      if (!request.browserIsKnown && !isFormOfAnotherSite(request))
        reply.setCookie(cookies.names.browser, request.browserId, cookies.attributes)
      const sessionId = request.cookies[cookies.names.session]
      if (isRandomId(sessionId)) request.sessionHash = hashId(sessionId)
      if (request.routeOptions.config.verifiesSession !== true) await request.verifySession()
    })

    async function findSignedIn(sessionHash: string): Promise<SignedIn | undefined> {
      const session = await sessions.find(sessionHash)
      if (session === undefined) return undefined
      const { isUseDue, authenticatedAt, ...found } = session
      if (isUseDue) sessionUses.note(sessionHash)
      return { ...found, sessionHash, authenticatedAt: authenticatedAt?.getTime() }
    }
  },
  { name: 'valetkey-session', fastify: '5.x', dependencies: ['@fastify/cookie'] }
)

/** Such a form comes without our cookies, and the response must not replace them. `checkForm` refuses it. */
function isFormOfAnotherSite(request: FastifyRequest): boolean {
  return request.method === 'POST' && isFromAnotherOrigin(request)
}

/** Whether the user gave a password, passkey or the like within the last five minutes. */
export function isFresh({ authenticatedAt }: Pick<SignedIn, 'authenticatedAt'>, now: Date): boolean {
  return authenticatedAt !== undefined && now.getTime() - authenticatedAt < FRESH_SIGN_IN_SECONDS * 1000
}

/** Seconds since the user gave a password, passkey or the like; undefined if the way to sign in does not say when that was. */
export function authenticationAge(
  { authenticatedAt }: Pick<SignedIn, 'authenticatedAt'>,
  now: Date
): number | undefined {
  return authenticatedAt === undefined ? undefined : (now.getTime() - authenticatedAt) / 1000
}

/** What a new session is about. */
export type NewSession = Pick<OpenedSession, 'user' | 'way' | 'authenticatedAt'> & {
  /** Longest lifetime; a provider may set a shorter one. */
  maxSeconds?: number | undefined
  /** The token for signing out at the provider, too. */
  idToken?: string | undefined
}

/**
 * Opens a session under a new id. Ends the earlier one: an id from before sign-in becomes invalid (session fixation). If all
 * sessions of the user have ended meanwhile, the new id names no session either, and the next page is that of the sign-in.
 * @param continued the end of the earlier session of the user, which goes on; undefined at a sign-in
 */
export async function openSession(
  request: FastifyRequest,
  reply: FastifyReply,
  { user, way, authenticatedAt, maxSeconds = MAX_SECONDS, idToken }: NewSession,
  { cookies, sessions, signInAtLeastEvery }: SessionOptions,
  continued?: { endsAt: Date }
): Promise<{ userId: string; sessionHash: string }> {
  const sessionId = newRandomId()
  const sessionHash = hashId(sessionId)
  await sessions.open(sessionHash, {
    user,
    way,
    isSignIn: continued === undefined,
    authenticatedAt,
    maxSeconds: Math.min(maxSeconds, MAX_SECONDS, signInAtLeastEvery || MAX_SECONDS),
    endsAt: continued?.endsAt,
    browser: describeBrowser(request.headers['user-agent']),
    encryptedIdToken: idToken === undefined ? undefined : encryptText(idToken, sessionId, ID_TOKEN)
  })
  // An ending of all sessions has ended the earlier one as well.
  if (continued === undefined) await closeSession(request, sessions)
  reply.setCookie(cookies.names.session, sessionId, cookies.attributes)
  return { userId: user.userId, sessionHash }
}

/** The ID token with which the session began. Only the cookie of the session decrypts it. */
export function decryptIdToken(
  request: FastifyRequest,
  { cookies }: Pick<SessionOptions, 'cookies'>
): string | undefined {
  const sessionId = request.cookies[cookies.names.session]
  const encrypted = request.signedIn?.encryptedIdToken
  if (sessionId === undefined || encrypted === undefined) return undefined
  return decryptText(encrypted, sessionId, ID_TOKEN)
}

/** Ends the session in the store, so that every copy of its cookie is invalid. */
export async function closeSession({ signedIn }: FastifyRequest, sessions: SessionStore): Promise<void> {
  if (signedIn !== undefined) await sessions.close(signedIn.sessionHash)
}
