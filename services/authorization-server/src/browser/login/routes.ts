import { redirectTarget } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { allowForms } from '../../http/security-headers.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { Message } from '../../platform/i18n/language.js'
import { formOf } from '../../platform/request-parts.js'
import { checkForm, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import { formActionSources } from '../pending-requests/form-action.js'
import { type Again, clientQuery, sentAgain, stepUrl } from '../pending-requests/pending-request.js'
import { type ValidationDeps, validateRequest } from '../pending-requests/validate-request.js'
import { closeSession, openSession, type SessionOptions } from '../session/session-plugin.js'
import { knowsAccount, rememberAccount } from './known-browser.js'
import { type SignInDeps, signIn, toAccount } from './sign-in.js'

export type LoginRouteOptions = {
  issuer: string
  cookieKeys: readonly string[]
  judge: ValidationDeps
  session: SessionOptions
  signIn: SignInDeps
}

/** What the form shows again, and what it has to say. */
type Shown = { username: string; problem: Message | ''; wrong: boolean; done: string; isInterrupted: boolean }

const NOTHING_ENTERED: Shown = { username: '', problem: '', wrong: false, done: '', isInterrupted: false }

/** What the page says after `?done=…`, to somebody who was just signed out. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['signed_out', 'login.signed_out'],
  ['signed_out_everywhere', 'login.signed_out_everywhere']
])

/** `/login` and `/logout`. After either the browser goes back to `/oauth/authorize`, which knows what comes next. */
export const loginRoutes: FastifyPluginAsync<LoginRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, judge, session } = options

  pages.get<{ Querystring: { done?: string } }>('/login', async (request, reply) => {
    const query = clientQuery(request)
    if (request.signedIn !== undefined) return goOn(reply, query)
    // Sent back for its cookie: a browser that keeps none would fill in the form for nothing.
    if (query !== '' && !request.browserIsKnown) return startAgain(reply, query, 'no_cookie')
    const done = DONE.get(request.query.done) ?? ''
    // The cookie names a session that ended, or that the service has lost.
    const hasLostSession = request.cookies[session.cookies.names.session] !== undefined
    const isInterrupted = hasLostSession || sentAgain(request) === 'interrupted'
    return showForm(request, reply, { ...NOTHING_ENTERED, done, isInterrupted })
  })

  pages.post('/login', async (request, reply) => {
    const query = clientQuery(request)
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeign(request, reply, query)
    // Signed in meanwhile, in another tab: nothing was lost.
    if (check === 'stale') return startAgain(reply, query, request.signedIn ? undefined : 'interrupted')

    const form = formOf(request)
    const username = form.get('username') ?? ''
    const account = toAccount(username)
    const knownAccounts = request.cookies[session.cookies.names.knownAccounts]
    const knownBrowser = knowsAccount(knownAccounts, account, cookieKeys)
    const attempt = { account, password: form.get('password') ?? '', knownBrowser }
    const result = await signIn(attempt, options.signIn, request)
    switch (result.kind) {
      case 'refused':
        reply.code(422)
        return showForm(request, reply, {
          ...NOTHING_ENTERED,
          username,
          problem: { key: 'login.failed' },
          wrong: true
        })
      case 'not_evaluated': {
        reply.code(429).header('retry-after', String(result.retryAfterSeconds))
        // Too many are in flight, and nothing is exhausted: the same form may be sent again in seconds.
        if (result.reason === 'too_many_at_once') return sendErrorPage(request, reply, { status: 429, reason: 'busy' })
        const problem = {
          key: 'login.too_many_attempts',
          values: { minutes: Math.ceil(result.retryAfterSeconds / 60) }
        }
        return showForm(request, reply, { ...NOTHING_ENTERED, username, problem })
      }
      case 'signed_in':
    }
    const remembered = rememberAccount(knownAccounts, account, cookieKeys)
    const yearLong = { ...session.cookies.attributes, maxAge: 365 * 86_400 }
    reply.setCookie(session.cookies.names.knownAccounts, remembered, yearLong)
    await openSession(request, reply, result.user, session)
    return goOn(reply, query)
  })

  pages.post('/logout', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    const query = clientQuery(request)
    if (check === 'foreign') return refuseForeign(request, reply, query)
    const user = request.signedIn
    if (check === 'stale' || user === undefined) return startAgain(reply, query)
    const everywhere = formOf(request).get('everywhere') === 'on'
    if (everywhere) await session.users.endSessions(user.userId)
    await closeSession(request, session.sessions)
    const event = everywhere ? 'signed_out_everywhere' : 'signed_out'
    options.signIn.audit.record(request, { event, userId: user.userId })
    reply.clearCookie(session.cookies.names.session, session.cookies.attributes)
    return query === '' ? reply.redirect(`${issuer}/login?done=${event}`, 303) : startAgain(reply, query)
  })

  pages.get('/logout', async (_request, reply) => reply.redirect(`${issuer}/login`, 303))

  /** Back to the request in the address; without one, to the only page that an account has. */
  function goOn(reply: FastifyReply, query: string): FastifyReply {
    return reply.redirect(query === '' ? `${issuer}/account/apps` : stepUrl(issuer, '/oauth/authorize', query), 303)
  }

  async function showForm(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
    const query = clientQuery(request)
    const judged = query === '' ? undefined : await validateRequest(query, judge)
    // What is wrong is said there.
    if (judged !== undefined && judged.kind !== 'accepted') return startAgain(reply, query)
    if (judged !== undefined) allowForms(reply, formActionSources(redirectTarget(judged.request.redirectUri)))
    return reply.view('login.hbs', {
      title: { key: 'login.title' },
      ...shown,
      clientName: judged?.client.name ?? '',
      csrfToken: tokenFor(request),
      action: stepUrl(issuer, '/login', query)
    })
  }

  function tokenFor(request: FastifyRequest): string {
    return createCsrfToken(cookieKeys, { browserId: request.browserId, sessionDigest: request.signedIn?.sessionDigest })
  }

  function startAgain(reply: FastifyReply, query: string, again?: Again): FastifyReply {
    return reply.redirect(stepUrl(issuer, query === '' ? '/login' : '/oauth/authorize', query, { again }), 303)
  }

  function refuseForeign(request: FastifyRequest, reply: FastifyReply, query: string): FastifyReply {
    const retryUrl = query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query)
    return refuseForeignForm(request, reply, { issuer, audit: options.signIn.audit, retryUrl })
  }
}
