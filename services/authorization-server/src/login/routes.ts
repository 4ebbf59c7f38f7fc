import { redirectTarget } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../http/form.js'
import { checkForm, refuseForeignForm } from '../http/own-form.js'
import { allowForms } from '../http/pages.js'
import type { Message } from '../language/language.js'
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

/** What the form shows again, and what it has to say. */
type Shown = { username: string; problem: Message | ''; wrong: boolean; done: string }

const NOTHING_ENTERED: Shown = { username: '', problem: '', wrong: false, done: '' }

/** What the page says after `?done=…`, to somebody who was just signed out. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['signed_out', 'login.signed_out'],
  ['signed_out_everywhere', 'login.signed_out_everywhere']
])

/** `/login` and `/logout`. After either the browser goes back to `/oauth/authorize`, which knows what comes next. */
export const loginRoutes: FastifyPluginAsync<LoginRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, judge, pending, session } = options

  pages.get<{ Querystring: { done?: string } }>('/login', async (request, reply) => {
    const held = await findHeldRequest(request, pending)
    const query = clientQuery(request)
    if (held === undefined && query !== '') {
      // The request is no longer held, or not for this browser: start the same one again. A browser that has no cookie
      // takes the id along: if it has none there either, it keeps none, and would be sent round in circles.
      const id = request.browserIsKnown ? undefined : namedRequest(request)
      return reply.redirect(stepUrl(issuer, '/oauth/authorize', query, id), 303)
    }
    if (request.signedIn !== undefined) return goOn(reply, held)
    const done = DONE.get(request.query.done) ?? ''
    return showForm(request, reply, held, { ...NOTHING_ENTERED, done })
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
        return showForm(request, reply, held, { username, problem: { key: 'login.failed' }, wrong: true, done: '' })
      case 'too_many_attempts': {
        reply.code(429).header('retry-after', String(result.retryAfterSeconds))
        const problem = { key: 'login.rests', values: { minutes: Math.ceil(result.retryAfterSeconds / 60) } }
        return showForm(request, reply, held, { username, problem, wrong: false, done: '' })
      }
      case 'signed_in':
    }
    const remembered = rememberAccount(knownAccounts, account, cookieKeys)
    const yearLong = { ...session.cookies.attributes, maxAge: 365 * 86_400 }
    reply.setCookie(session.cookies.names.knownAccounts, remembered, yearLong)
    await openSession(request, reply, result.user, session)
    return goOn(reply, held)
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

  /** Back to the request that is waiting; without one, to the only page that an account has. */
  function goOn(reply: FastifyReply, held: HeldRequest | undefined): FastifyReply {
    const target = held && stepUrl(issuer, '/oauth/authorize', held.query, held.id)
    return reply.redirect(target ?? `${issuer}/account/apps`, 303)
  }

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    held: HeldRequest | undefined,
    shown: Shown
  ): Promise<FastifyReply> {
    const judged = held === undefined ? undefined : await judgeRequest(held.query, judge)
    const accepted = judged?.kind === 'accepted' ? judged : undefined
    if (accepted !== undefined) allowForms(reply, formActionSources(redirectTarget(accepted.request.redirectUri)))
    return reply.view('login.hbs', {
      title: { key: 'login.title' },
      ...shown,
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
    const retryUrl = query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query)
    return refuseForeignForm(request, reply, { issuer, audit: options.signIn.audit, retryUrl })
  }
}
