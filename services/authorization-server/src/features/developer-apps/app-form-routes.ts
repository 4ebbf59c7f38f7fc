import multipart from '@fastify/multipart'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { isFresh, type SignedIn } from '../../browser/session/session-plugin.js'
import { showAppForm } from './app-form-page.js'
import { problemView } from './app-problem-view.js'
import { showSecret } from './app-secret-routes.js'
import { changeApp } from './change-app.js'
import { createApp } from './create-app.js'
import { type AppRequest, appUrl, confirmUrl, type DeveloperPageOptions, refuse } from './developer-page.js'
import { findOwnApp } from './own-apps.js'
import { FORM_LIMITS } from './read-app-form.js'
import { type ReceivedForm, receiveAppForm } from './receive-app-form.js'

const NEW = '/account/developer/new'
const EDIT = '/account/developer/apps/:id/edit'

/** The forms that register an app and change it. */
export const appFormRoutes: FastifyPluginAsync<DeveloperPageOptions> = async (pages, options) => {
  const { issuer, now } = options
  await pages.register(multipart, FORM_LIMITS)

  /** Users sign in again before they fill in the form, so that it is accepted when it is sent. */
  const mustSignIn = (user: SignedIn | undefined): user is undefined => user === undefined || !isFresh(user, now())

  pages.get(NEW, async (request, reply) => {
    const user = request.signedIn
    if (mustSignIn(user)) return reply.redirect(confirmUrl(issuer, 'developer/new'), 303)
    return showAppForm({ user, app: undefined }, request, reply, options)
  })

  pages.post(NEW, async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(confirmUrl(issuer, 'developer/new'), 303)
    const received = await receiveAppForm({ user, app: undefined }, request, reply, options)
    return received === undefined ? reply : register(received, user, request, reply, options)
  })

  pages.get(EDIT, async (request: AppRequest, reply) => {
    const user = request.signedIn
    const { id: clientId } = request.params
    if (mustSignIn(user)) return reply.redirect(confirmUrl(issuer, `developer/apps/${clientId}/edit`), 303)
    const found = await findOwnApp(user, clientId, options)
    if (found === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
    return showAppForm({ user, app: found.app }, request, reply, options)
  })

  pages.post(EDIT, async (request: AppRequest, reply) => {
    const user = request.signedIn
    const { id: clientId } = request.params
    if (user === undefined) return reply.redirect(confirmUrl(issuer, `developer/apps/${clientId}/edit`), 303)
    const found = await findOwnApp(user, clientId, options)
    if (found === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
    const shown = { user, app: found.app }
    const received = await receiveAppForm(shown, request, reply, options)
    if (received === undefined) return reply
    const { typed, input } = received
    const outcome = await changeApp({ clientId, input }, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'invalid':
        return showAppForm({ ...shown, typed, problems: outcome.problems.map(problemView) }, request, reply, options)
      case 'too_many_waiting':
        return showAppForm({ ...shown, typed, notice: 'too_many_waiting' }, request, reply, options)
      case 'unchanged':
        return reply.redirect(appUrl(issuer, clientId), 303)
      case 'changed':
      case 'pending':
        return reply.redirect(
          `${appUrl(issuer, clientId)}?done=${outcome.kind === 'pending' ? 'pending' : 'saved'}`,
          303
        )
    }
  })
}

async function register(
  { typed, input }: ReceivedForm,
  user: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
  options: DeveloperPageOptions
): Promise<FastifyReply> {
  const { issuer } = options
  const outcome = await createApp({ ...input, type: typed.type }, { user, request }, options)
  switch (outcome.kind) {
    case 'session_ended':
      return refuse(outcome, request, reply, options)
    case 'invalid':
      return showAppForm(
        { user, app: undefined, typed, problems: outcome.problems.map(problemView) },
        request,
        reply,
        options
      )
    case 'too_many_apps':
    case 'too_many_today':
      return showAppForm({ user, app: undefined, typed, notice: outcome.kind }, request, reply, options)
    case 'created': {
      const { clientId, clientSecret } = outcome
      if (clientSecret === undefined) return reply.redirect(`${appUrl(issuer, clientId)}?done=registered`, 303)
      return showSecret({ clientId, clientSecret, name: typed.name, isNew: true }, reply, options)
    }
  }
}
