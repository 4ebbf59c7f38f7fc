import { redirectTarget } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../http/form.js'
import { checkForm } from '../http/own-form.js'
import { allowForms } from '../http/pages.js'
import { sendErrorPage } from '../http/send-error-page.js'
import { formActionSources } from '../requests/form-action.js'
import { clientQuery, findHeldRequest, type HeldRequest, namedRequest, stepUrl } from '../requests/held-request.js'
import { type JudgeDeps, judgeRequest } from '../requests/judge-request.js'
import { formToken } from '../session/form-token.js'
import { closeSession, openSession, type SessionOptions } from '../session/session-plugin.js'
import type { PendingRequestStore } from '../storage/pending-requests.js'
import { knowsAccount, rememberAccount } from './known-browser.js'
import { type SignInDeps, signIn, toAccount } from './sign-in.js'

export type LoginRouteOptions = {
  issuer: string
  cookieKeys: readonly string[]
  judge: JudgeDeps
  pending: Pick<PendingRequestStore, 'find'>
  session: SessionOptions
  signIn: SignInDeps
}

/** What the form shows again, and why. */
type Entered = { username: string; failed: boolean; waitMinutes: number }

const NOTHING_ENTERED: Entered = { username: '', failed: false, waitMinutes: 0 }

/** `/login` and `/logout`. After either the browser goes back to `/oauth/authorize`, which knows what comes next. */
export const loginRoutes: FastifyPluginAsync<LoginRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, judge, pending, session } = options

  pages.get('/login', async (request, reply) => {
    const held = await findHeldRequest(request, pending)
    const query = clientQuery(request)
    if (held === undefined && query !== '') {
      // The request is no longer held, or not for this browser: start the same one again. A browser that has no cookie
      // takes the id along: if it has none there either, it keeps none, and would be sent round in circles.
      const id = request.browserIsKnown ? undefined : namedRequest(request)
      return reply.redirect(stepUrl(issuer, '/oauth/authorize', query, id), 303)
    }
    if (request.signedIn === undefined) return showForm(request, reply, held, NOTHING_ENTERED)
    if (held !== undefined) return reply.redirect(stepUrl(issuer, '/oauth/authorize', query, held.id), 303)
    return reply.view('signed-in.hbs', {
      title: 'You are signed in',
      username: request.signedIn.username,
      csrfToken: tokenFor(request),
      logoutUrl: `${issuer}/logout`
    })
  })

  pages.post('/login', async (request, reply) => {
    const query = clientQuery(request)
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeign(request, reply, query)
    const held = await findHeldRequest(request, pending)
    if (check === 'stale' || (held === undefined && query !== '')) return startAgain(reply, query)

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
        return showForm(request, reply, held, { username, failed: true, waitMinutes: 0 })
      case 'too_many_attempts': {
        reply.code(429).header('retry-after', String(result.retryAfterSeconds))
        const waitMinutes = Math.ceil(result.retryAfterSeconds / 60)
        return showForm(request, reply, held, { username, failed: false, waitMinutes })
      }
      case 'signed_in':
    }
    const remembered = rememberAccount(knownAccounts, account, cookieKeys)
    const yearLong = { ...session.cookies.attributes, maxAge: 365 * 86_400 }
    reply.setCookie(session.cookies.names.knownAccounts, remembered, yearLong)
    await openSession(request, reply, result.user, session)
    return reply.redirect(
      held === undefined ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query, held.id),
      303
    )
  })

  pages.post('/logout', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeign(request, reply, '')
    if (check === 'own' && request.signedIn !== undefined) {
      await closeSession(request, session.sessions)
      options.signIn.audit.record(request, { event: 'signed_out', userId: request.signedIn.userId })
      reply.clearCookie(session.cookies.names.session, session.cookies.attributes)
    }
    return startAgain(reply, clientQuery(request))
  })

  pages.get('/logout', async (_request, reply) => reply.redirect(`${issuer}/login`, 303))

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    held: HeldRequest | undefined,
    entered: Entered
  ): Promise<FastifyReply> {
    const judged = held === undefined ? undefined : await judgeRequest(held.query, judge)
    const accepted = judged?.kind === 'accepted' ? judged : undefined
    if (accepted !== undefined) allowForms(reply, formActionSources(redirectTarget(accepted.request.redirectUri)))
    return reply.view('login.hbs', {
      title: 'Sign in',
      ...entered,
      clientName: accepted?.client.name ?? '',
      csrfToken: tokenFor(request),
      action: stepUrl(issuer, '/login', held?.query ?? '', held?.id)
    })
  }

  function tokenFor(request: FastifyRequest): string {
    return formToken(cookieKeys, { browserId: request.browserId, sessionDigest: request.signedIn?.sessionDigest })
  }

  function startAgain(reply: FastifyReply, query: string): FastifyReply {
    return reply.redirect(query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query), 303)
  }

  function refuseForeign(request: FastifyRequest, reply: FastifyReply, query: string): FastifyReply {
    return sendErrorPage(request, reply, {
      status: 403,
      title: 'This form could not be accepted',
      message: 'It did not come from a page that this browser was shown here, or your browser blocks our cookies.',
      advice: `Open the page again and send the form from there. This service is at ${issuer}.`,
      retryUrl: query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query)
    })
  }
}
