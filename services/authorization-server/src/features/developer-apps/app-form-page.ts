import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import type { SignedIn } from '../../browser/session/session-plugin.js'
import { EMPTY_APP, formView, type TypedApp, typedFrom } from './app-form-view.js'
import type { ProblemView } from './app-problem-view.js'
import { logoUrlOf } from './app-view.js'
import type { DeveloperApp } from './developer-app-store.js'
import { appUrl, confirmUrl, csrfTokenFor, type DeveloperPageOptions } from './developer-page.js'
import { listOfferedScopes } from './own-apps.js'

/** @property notice why a form was not accepted that has no problem in a field */
export type ShownForm = {
  user: SignedIn
  /** Undefined for a new app. */
  app: DeveloperApp | undefined
  typed?: TypedApp
  problems?: readonly ProblemView[]
  notice?: keyof typeof NOTICES
}

const NOTICES = {
  send_again: 'developer.form_send_again',
  sign_in: 'developer.form_sign_in',
  too_many_waiting: 'developer.too_many_waiting',
  too_many_apps: 'developer.too_many_apps',
  too_many_today: 'developer.too_many_today',
  too_many_changes: 'developer.too_many_changes'
}

/** The form of a new app or of one that exists, with what was typed. */
export async function showAppForm(
  { user, app, typed, problems = [], notice }: ShownForm,
  request: FastifyRequest,
  reply: FastifyReply,
  options: DeveloperPageOptions
): Promise<FastifyReply> {
  const { issuer, cookieKeys, mode } = options
  const offered = await listOfferedScopes(app?.settings, options)
  const fields = typed ?? (app === undefined ? EMPTY_APP : typedFrom(app.pending ?? app.settings))
  const isRefused = problems.length > 0 || notice !== undefined
  return reply.code(isRefused ? 422 : 200).view('account-developer-form.hbs', {
    account: accountNavigation(issuer, 'developer'),
    ...formView(fields, problems, offered, request.language),
    ...(app === undefined ? newAppTexts(issuer) : appTexts(app, issuer)),
    notice: notice === undefined ? '' : NOTICES[notice],
    signInUrl: notice === 'sign_in' ? confirmUrl(issuer, 'developer') : '',
    logoUrl: logoUrlOf(app?.pending ?? app?.settings, issuer),
    needsApproval: app?.state === 'approved' && mode === 'approved',
    csrfToken: csrfTokenFor(user, request, cookieKeys)
  })
}

function newAppTexts(issuer: string) {
  return {
    title: { key: 'developer.register' },
    submit: 'developer.register_submit',
    isNew: true,
    action: `${issuer}/account/developer/new`,
    backUrl: `${issuer}/account/developer`,
    back: { key: 'developer.back_to_list' }
  }
}

function appTexts({ clientId, settings: { name: client } }: DeveloperApp, issuer: string) {
  return {
    title: { key: 'developer.edit_title', values: { client } },
    submit: 'developer.save',
    isNew: false,
    action: `${appUrl(issuer, clientId)}/edit`,
    backUrl: appUrl(issuer, clientId),
    back: { key: 'developer.back_to_app', values: { client } }
  }
}
