import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { allowForms } from '../../http/security-headers.js'
import type { AccessEnds } from '../../platform/access-ends.js'
import type { Language } from '../../platform/i18n/language.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import type { Selections } from '../../platform/selections.js'
import type { ConnectedAppStore } from '../../storage/postgres/connected-apps.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { ScopeStore } from '../../storage/postgres/scopes.js'
import { checkForm, type FormPage, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import type { ForeignSignOut } from '../session/foreign-sign-out.js'
import type { SignedIn } from '../session/session-plugin.js'
import { nextStep, stateOfPage } from '../steps/next-step.js'
import { accountNavigation } from './account-navigation.js'
import type { AppHistory } from './app-history.js'
import { type AppView, appView } from './app-view.js'
import { doneNotice } from './done-notice.js'

export type AccountRouteOptions = FormPage & {
  connectedApps: Pick<ConnectedAppStore, 'list' | 'end' | 'findNameOfAllowed'>
  scopes: Pick<ScopeStore, 'list'>
  resourceServers: Pick<ResourceServerStore, 'listApis'>
  foreignSignOut: Pick<ForeignSignOut, 'offer'> | undefined
  accessEnds: AccessEnds | undefined
  appHistory: AppHistory | undefined
  /** Undefined: users choose nothing at APIs. */
  selections: Selections | undefined
  now: () => Date
}

/** `/account/apps`: lists the apps with access to the account. `/` leads there. */
export const accountRoutes: FastifyPluginAsync<AccountRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, connectedApps, foreignSignOut } = options

  pages.get('/', async (_request, reply) => reply.redirect(`${issuer}/account/apps`, 303))

  pages.get('/account/apps', async (request, reply) => {
    const user = request.signedIn
    const step = nextStep({ session: stateOfPage(user), authorization: undefined })
    if (step !== 'show_account' || user === undefined) return reply.redirect(`${issuer}/login`, 303)
    const provider = foreignSignOut?.offer(user)
    const apps = await listApps(user, request.language, options)
    // Forms end at the provider, and at APIs; browsers apply the policy to these redirects, too.
    const targets = [...(provider?.formSources ?? []), ...originsOfChoices(apps)]
    if (targets.length > 0) allowForms(reply, targets)
    const query = queryOf(request)
    return reply.view('account-apps.hbs', {
      title: { key: 'account.title' },
      account: accountNavigation(issuer, 'apps'),
      done: await doneNotice({ userId: user.userId, query, listed: apps }, connectedApps),
      username: user.username,
      apps,
      csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
      logoutUrl: `${issuer}/logout`,
      providerLabel: provider?.label ?? ''
    })
  })

  endingRoutes(pages, options)
}

/** `/account/apps/end`: asks before the access of an app is ended, and ends it. */
function endingRoutes(pages: FastifyInstance, options: AccountRouteOptions): void {
  const { issuer, cookieKeys, connectedApps, audit } = options
  const listUrl = `${issuer}/account/apps`

  pages.get('/account/apps/end', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(`${issuer}/login`, 303)
    const clientId = queryOf(request).get('client_id')
    const app = (await listApps(user, request.language, options)).find((each) => each.clientId === clientId)
    // Another browser may have ended the access, so the list is what the user wants to see.
    if (app === undefined) return reply.redirect(clientId === undefined ? listUrl : `${listUrl}?done=ended`, 303)
    return reply.view('account-app-end.hbs', {
      title: { key: 'account.end_title', values: { client: app.name } },
      account: accountNavigation(issuer, 'apps'),
      app,
      csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
      endUrl: `${listUrl}/end`,
      cancelUrl: listUrl
    })
  })

  pages.post('/account/apps/end', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeignForm(request, reply, { issuer, audit, retryUrl: listUrl })
    const clientId = formOf(request).get('client_id')
    const user = request.signedIn
    // The form was shown to another session: show the present list.
    if (check === 'stale' || user === undefined || clientId === undefined) return reply.redirect(listUrl, 303)
    const ended = await connectedApps.end(user.userId, clientId)
    for (const grantId of ended.grantIds) {
      audit.record(request, { event: 'grant_ended', clientId, userId: user.userId, grantId, reason: 'ended_by_user' })
    }
    return reply.redirect(`${listUrl}?${new URLSearchParams({ done: 'ended', client_id: clientId })}`, 303)
  })
}

function originsOfChoices(apps: readonly AppView[]): readonly string[] {
  return [...new Set(apps.flatMap(({ choices }) => choices.map(({ audience }) => new URL(audience).origin)))]
}

async function listApps(
  { userId }: SignedIn,
  language: Language,
  { issuer, connectedApps, scopes, resourceServers, accessEnds, selections, appHistory, now }: AccountRouteOptions
): Promise<AppView[]> {
  const [connected, catalogue, apis, histories] = await Promise.all([
    connectedApps.list(userId),
    scopes.list(),
    resourceServers.listApis(),
    appHistory?.read(userId, language, now())
  ])
  return connected.map((app) => {
    const history = histories?.get(app.clientId) ?? []
    return appView(app, { catalogue, apis, issuer, accessEnds, selections, history }, language, now())
  })
}
