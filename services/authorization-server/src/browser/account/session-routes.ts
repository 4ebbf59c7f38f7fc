import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { formOf, queryOf } from '../../platform/request-parts.js'
import type { OwnSessionStore } from '../../storage/postgres/own-sessions.js'
import { checkForm, type FormPage, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import { reopenSession } from '../session/reopen-session.js'
import type { SessionOptions, SignedIn } from '../session/session-plugin.js'
import { accountNavigation } from './account-navigation.js'
import { listedId, sessionView } from './session-view.js'

const DONE: ReadonlyMap<unknown, string> = new Map([
  ['one', 'sessions.done_one'],
  ['others', 'sessions.done_others']
])

/** `/account/sessions`: lists the browsers in which the user is signed in; ends one, or all others. */
export const sessionRoutes: FastifyPluginAsync<
  FormPage &
    SessionOptions & {
      ownSessions: Pick<OwnSessionStore, 'endOtherSessions'>
      /** Names of the providers and the login page, by their id. */
      labels: ReadonlyMap<string, string>
    }
> = async (pages, options) => {
  const { issuer, cookieKeys, sessions, ownSessions, labels, audit, now } = options
  const pageUrl = `${issuer}/account/sessions`
  const signInUrl = `${issuer}/login?page=sessions`

  pages.get('/account/sessions', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(signInUrl, 303)
    const surroundings = { labels, language: request.language, now: now() }
    const views = (await sessions.list(user.userId)).map((each) => sessionView(each, user, surroundings))
    return reply.view('account-sessions.hbs', {
      title: { key: 'sessions.title' },
      account: accountNavigation(issuer, 'sessions'),
      username: user.username,
      done: DONE.get(queryOf(request).get('done')) ?? '',
      thisOne: views.filter(({ isThisOne }) => isThisOne),
      others: views.filter(({ isThisOne }) => !isThisOne),
      csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
      endUrl: `${pageUrl}/end`,
      endOthersUrl: `${pageUrl}/end-others`,
      logoutUrl: `${issuer}/logout`
    })
  })

  /** The user who sent the form; undefined if the response has been sent. */
  function userOfForm(request: FastifyRequest, reply: FastifyReply): SignedIn | undefined {
    const check = checkForm(request, options)
    if (check === 'foreign') {
      refuseForeignForm(request, reply, { issuer, audit, retryUrl: pageUrl })
      return undefined
    }
    if (check === 'stale' || request.signedIn === undefined) {
      reply.redirect(pageUrl, 303)
      return undefined
    }
    return request.signedIn
  }

  pages.post('/account/sessions/end', async (request, reply) => {
    const user = userOfForm(request, reply)
    if (user === undefined) return reply
    const id = formOf(request).get('session')
    const ended = (await sessions.list(user.userId)).find(({ hash }) => listedId(hash) === id)
    // Sent twice, or it has ended by itself: the list is what the user wants to see.
    if (ended === undefined || ended.hash === user.sessionHash) return reply.redirect(pageUrl, 303)
    await sessions.close(ended.hash)
    audit.record(request, { event: 'session_ended', userId: user.userId })
    return reply.redirect(`${pageUrl}?done=one`, 303)
  })

  pages.post('/account/sessions/end-others', async (request, reply) => {
    const user = userOfForm(request, reply)
    if (user === undefined) return reply
    // Not one by one: this also ends a session that begins at the same time.
    const changed = await ownSessions.endOtherSessions(user)
    if (changed === undefined) return reply.redirect(signInUrl, 303)
    audit.record(request, { event: 'other_sessions_ended', userId: user.userId })
    await reopenSession(request, reply, { user: changed }, options)
    return reply.redirect(`${pageUrl}?done=others`, 303)
  })
}
