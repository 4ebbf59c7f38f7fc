import type { FastifyPluginAsync } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { isFresh } from '../../browser/session/session-plugin.js'
import { queryOf } from '../../platform/request-parts.js'
import { showApp } from './app-page.js'
import { withdrawChange } from './change-app.js'
import {
  type AppRequest,
  appUrl,
  confirmUrl,
  csrfTokenFor,
  type DeveloperPageOptions,
  refuse,
  userOfForm
} from './developer-page.js'
import { deleteApp, disableApp } from './end-app.js'
import { type Actor, findOwnApp, type OwnAppDeps, type Refused } from './own-apps.js'
import { requestApproval, withdrawRequest } from './request-approval.js'

const PATH = '/account/developer/apps/:id'

type Withdraw = (clientId: string, actor: Actor, deps: OwnAppDeps) => Promise<{ kind: 'done' } | Refused>

/** `/account/developer/apps/ID`: one app, its approval and its end. */
export const appRoutes: FastifyPluginAsync<DeveloperPageOptions> = async (pages, options) => {
  const { issuer } = options

  pages.get(PATH, async (request: AppRequest, reply) => {
    const user = request.signedIn
    const { id: clientId } = request.params
    if (user === undefined) return reply.redirect(confirmUrl(issuer, `developer/apps/${clientId}`), 303)
    return showApp({ user, clientId, done: queryOf(request).get('done') }, request, reply, options)
  })

  pages.post(`${PATH}/request`, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, `developer/apps/${clientId}`, options, 'any_session')
    if (user === undefined) return reply
    const outcome = await requestApproval(clientId, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'too_many_waiting': {
        const problem = { at: 'app', message: { key: 'developer.too_many_waiting' } } as const
        return showApp({ user, clientId, problem }, request, reply, options)
      }
      // Sent twice, or an operator was faster: the page shows the present state.
      case 'nothing_to_approve':
        return reply.redirect(appUrl(issuer, clientId), 303)
      case 'requested':
      case 'published':
        return reply.redirect(`${appUrl(issuer, clientId)}?done=${outcome.kind}`, 303)
    }
  })

  const withdrawals: [string, Withdraw][] = [
    ['withdraw', withdrawRequest],
    ['withdraw-change', withdrawChange]
  ]
  for (const [name, withdraw] of withdrawals) {
    pages.post(`${PATH}/${name}`, async (request: AppRequest, reply) => {
      const { id: clientId } = request.params
      const user = userOfForm(request, reply, `developer/apps/${clientId}`, options, 'any_session')
      if (user === undefined) return reply
      const outcome = await withdraw(clientId, { user, request }, options)
      if (outcome.kind !== 'done') return refuse(outcome, request, reply, options)
      return reply.redirect(`${appUrl(issuer, clientId)}?done=withdrawn`, 303)
    })
  }

  await pages.register(endRoutes, options)
}

/** A page that names the app asks before it is disabled or deleted. */
const endRoutes: FastifyPluginAsync<DeveloperPageOptions> = async (pages, options) => {
  const { issuer, cookieKeys, now } = options

  for (const end of ['disable', 'delete'] as const) {
    pages.get(`${PATH}/${end}`, async (request: AppRequest, reply) => {
      const user = request.signedIn
      const { id: clientId } = request.params
      const page = `developer/apps/${clientId}`
      if (user === undefined) return reply.redirect(confirmUrl(issuer, page), 303)
      const found = await findOwnApp(user, clientId, options)
      if (found === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
      const client = found.app.settings.name
      return reply.view('account-developer-end.hbs', {
        title: { key: END[end].title, values: { client } },
        account: accountNavigation(issuer, 'developer'),
        name: client,
        lead: END[end].lead,
        submit: END[end].submit,
        users: found.userCount,
        confirmUrl: isFresh(user, now()) ? '' : confirmUrl(issuer, page),
        csrfToken: csrfTokenFor(user, request, cookieKeys),
        action: `${appUrl(issuer, clientId)}/${end}`,
        appUrl: appUrl(issuer, clientId)
      })
    })

    pages.post(`${PATH}/${end}`, { config: { isEnding: true } }, async (request: AppRequest, reply) => {
      const { id: clientId } = request.params
      const user = userOfForm(request, reply, `developer/apps/${clientId}`, options, 'must_be_fresh')
      if (user === undefined) return reply
      const outcome = await (end === 'delete' ? deleteApp : disableApp)(clientId, { user, request }, options)
      if (outcome.kind !== 'done') return refuse(outcome, request, reply, options)
      return reply.redirect(
        end === 'delete' ? `${issuer}/account/developer?done=deleted` : `${appUrl(issuer, clientId)}?done=disabled`,
        303
      )
    })
  }
}

const END = {
  disable: { title: 'developer.disable_title', lead: 'developer.disable_lead', submit: 'developer.disable_submit' },
  delete: { title: 'developer.delete_title', lead: 'developer.delete_lead', submit: 'developer.delete_submit' }
}
