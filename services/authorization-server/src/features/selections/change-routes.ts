import type { FastifyPluginAsync } from 'fastify'
import { countChanges } from '../../browser/account/count-changes.js'
import { checkForm, type FormPage, refuseForeignForm } from '../../browser/csrf/check-form.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { formOf } from '../../platform/request-parts.js'
import type { ConnectedAppStore } from '../../storage/postgres/connected-apps.js'
import type { ScopeList } from '../../storage/postgres/scopes.js'
import { handOver } from './hand-over.js'
import type { HandoverStore } from './handover-store.js'

type ChangeOptions = FormPage & {
  connectedApps: Pick<ConnectedAppStore, 'list'>
  scopes: ScopeList
  handovers: Pick<HandoverStore, 'add'>
  /** Identifier of the API of scopes without one. */
  defaultAudience: string
  limiter: Pick<Limiter, 'count'>
}

export const CHANGE_PATH = '/account/apps/choose'

/** `POST /account/apps/choose`: leads to the page of the API, where the user changes what an app has access to. */
export const changeRoutes: FastifyPluginAsync<ChangeOptions> = async (pages, options) => {
  const { issuer, audit } = options
  const listUrl = `${issuer}/account/apps`

  countChanges(pages, options)

  pages.post(CHANGE_PATH, async (request, reply) => {
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeignForm(request, reply, { issuer, audit, retryUrl: listUrl })
    const user = request.signedIn
    // The form was shown to another session: show the present list.
    if (check === 'stale' || user === undefined) return reply.redirect(listUrl, 303)
    const form = formOf(request)
    const [audience, identifier] = [form.get('audience'), form.get('identifier')]
    const apps = await options.connectedApps.list(user.userId)
    const app = apps.find(({ clientId }) => clientId === form.get('client_id'))
    const choice = app?.chosen.find((each) => each.audience === audience && each.identifier === identifier)
    // The access has ended.
    if (app === undefined || choice === undefined) return reply.redirect(listUrl, 303)
    const { clientId, name: clientName } = app
    const scopes = (await options.scopes.list()).filter(({ name, selects }) => selects && app.scope.includes(name))
    const scope = scopes.find((each) => (each.audience ?? options.defaultAudience) === choice.audience)?.name ?? ''
    const handover = {
      userId: user.userId,
      clientId,
      clientName,
      audience: choice.audience,
      scope,
      language: request.language.tag,
      returnTo: listUrl,
      purpose: { kind: 'change', type: choice.type, identifier: choice.identifier }
    } as const
    return reply.redirect(await handOver(handover, options.handovers), 303)
  })
}
