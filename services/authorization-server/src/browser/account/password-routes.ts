import { canonicalName } from '@valetkey/sign-in-rules'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { clientSignal } from '../../http/client-signal.js'
import { allowScripts, PASSWORD_SCRIPTS } from '../../http/security-headers.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { Message } from '../../platform/i18n/language.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import { checkForm, type FormPage, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import { reopenSession } from '../session/reopen-session.js'
import { isFresh, type SessionOptions, type SignedIn } from '../session/session-plugin.js'
import { accountNavigation } from './account-navigation.js'
import { type ChangePasswordDeps, changePassword, type PasswordChangeResult } from './change-password.js'

export type PasswordRouteOptions = FormPage &
  SessionOptions &
  ChangePasswordDeps & {
    /** Whether users sign in with a password at all. */
    isLocal: boolean
  }

/** `/account/password`: users who have a password change it. */
export const passwordRoutes: FastifyPluginAsync<PasswordRouteOptions> = async (pages, options) => {
  const { issuer, audit, isLocal, now } = options
  if (!isLocal) return
  const pageUrl = `${issuer}/account/password`

  pages.get('/account/password', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(`${issuer}/login?page=password`, 303)
    return showForm('', queryOf(request).get('done') === 'saved', user, request, reply, options)
  })

  pages.post('/account/password', async (request, reply) => {
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeignForm(request, reply, { issuer, audit, retryUrl: pageUrl })
    const user = request.signedIn
    if (check === 'stale' || user === undefined) return reply.redirect(pageUrl, 303)
    const form = formOf(request)
    const change = {
      user,
      isFresh: isFresh(user, now()),
      currentPassword: form.get('current_password') ?? '',
      newPassword: form.get('new_password') ?? '',
      client: clientSignal(reply)
    }
    const result = await changePassword(change, options, request)
    if (result.kind !== 'changed') return refuse(result, user, request, reply, options)
    const confirmedAt = change.isFresh ? undefined : now()
    await reopenSession(request, reply, { user: result.user, confirmedAt }, options)
    return reply.redirect(`${pageUrl}?done=saved`, 303)
  })
}

async function refuse(
  result: Exclude<PasswordChangeResult, { kind: 'changed' }>,
  user: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
  options: PasswordRouteOptions
): Promise<FastifyReply> {
  const { issuer, passwordRules } = options
  const show = (problem: Message) => showForm(problem, false, user, request, reply, options)
  switch (result.kind) {
    case 'session_ended':
      return reply.redirect(`${issuer}/login?page=password`, 303)
    case 'no_password':
      return reply.redirect(`${issuer}/account/sign-ins`, 303)
    case 'bad_password': {
      reply.code(422)
      return show({ key: `password.${result.problem}`, values: { minLength: passwordRules.minLength } })
    }
    case 'wrong_current_password':
      reply.code(422)
      return show({ key: 'password.wrong_current' })
    case 'not_evaluated': {
      reply.code(429).header('retry-after', String(result.retryAfterSeconds))
      if (result.reason === 'too_many_at_once') return sendErrorPage(request, reply, { status: 503, reason: 'busy' })
      const minutes = Math.ceil(result.retryAfterSeconds / 60)
      return show({ key: 'password.too_many_attempts', values: { minutes } })
    }
  }
}

async function showForm(
  problem: Message | '',
  isDone: boolean,
  user: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, cookieKeys, users, passwordRules, now }: PasswordRouteOptions
): Promise<FastifyReply> {
  const hasPassword = (await users.findWithPassword(canonicalName(user.username)))?.passwordHash !== undefined
  if (!hasPassword) return reply.redirect(`${issuer}/account/sign-ins`, 303)
  allowScripts(reply)
  return reply.view('account-password.hbs', {
    scripts: PASSWORD_SCRIPTS,
    title: { key: 'password.title' },
    account: accountNavigation(issuer, 'sign-ins'),
    username: user.username,
    asksCurrent: !isFresh(user, now()),
    signInUrl: `${issuer}/login?page=password`,
    done: isDone ? 'password.done' : '',
    problem,
    isWrongCurrent: problem !== '' && problem.key === 'password.wrong_current',
    minLength: passwordRules.minLength,
    csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
    action: `${issuer}/account/password`
  })
}
