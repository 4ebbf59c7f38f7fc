import { redirectTarget } from '@valetkey/oauth-protocol'
import type { ProviderSettings } from '@valetkey/sign-in-rules'
import type { FastifyPluginAsync } from 'fastify'
import { allowForms } from '../../http/security-headers.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import { formOf } from '../../platform/request-parts.js'
import type { ConnectedAppStore } from '../../storage/postgres/connected-apps.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { ScopeStore } from '../../storage/postgres/scopes.js'
import { checkForm, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import { formActionSources } from '../pending-requests/form-action.js'
import type { SignedIn } from '../session/session-plugin.js'
import { nextStep, stateOfPage } from '../steps/next-step.js'
import { accountNavigation } from './account-navigation.js'
import { appView } from './app-view.js'

export type AccountRouteOptions = {
  issuer: string
  cookieKeys: readonly string[]
  apps: Pick<ConnectedAppStore, 'list' | 'end'>
  scopes: Pick<ScopeStore, 'list'>
  resourceServers: Pick<ResourceServerStore, 'listApis'>
  audit: AuditTrail
  providers: readonly Pick<ProviderSettings, 'id' | 'label' | 'issuer'>[]
  now: () => Date
}

/** `/account/apps`: lists the apps with access to the account, each with a button that ends its access. */
export const accountRoutes: FastifyPluginAsync<AccountRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, apps, scopes, resourceServers, audit, now } = options

  pages.get<{ Querystring: { done?: string } }>('/account/apps', async (request, reply) => {
    const user = request.signedIn
    const step = nextStep({ session: stateOfPage(user), authorization: undefined })
    if (step !== 'show_account' || user === undefined) return reply.redirect(`${issuer}/login`, 303)
    const [connected, catalogue, apis] = await Promise.all([
      apps.list(user.userId),
      scopes.list(),
      resourceServers.listApis()
    ])
    const provider = findEndingProvider(user, options)
    // The form of the sign-out ends at the provider, and browsers apply the policy to that redirect, too.
    if (provider !== undefined) allowForms(reply, formActionSources(redirectTarget(provider.issuer)))
    return reply.view('account-apps.hbs', {
      title: { key: 'account.title' },
      account: accountNavigation(issuer, 'apps'),
      done: request.query.done === 'ended' ? 'account.ended' : '',
      username: user.username,
      apps: connected.map((app) => appView(app, { catalogue, apis }, request.language, now())),
      csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
      endUrl: `${issuer}/account/apps/end`,
      logoutUrl: `${issuer}/logout`,
      providerLabel: provider?.label ?? ''
    })
  })

  pages.post('/account/apps/end', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') {
      return refuseForeignForm(request, reply, { issuer, audit, retryUrl: `${issuer}/account/apps` })
    }
    const clientId = formOf(request).get('client_id')
    const user = request.signedIn
    // The form was shown to another session: show the present list.
    if (check === 'stale' || user === undefined || clientId === undefined) {
      return reply.redirect(`${issuer}/account/apps`, 303)
    }
    const ended = await apps.end(user.userId, clientId)
    for (const grantId of ended.grantIds) {
      audit.record(request, { event: 'grant_ended', clientId, userId: user.userId, grantId, reason: 'ended_by_user' })
    }
    return reply.redirect(`${issuer}/account/apps?done=ended`, 303)
  })
}

/** The provider at which the user can sign out, too. */
function findEndingProvider({ way, encryptedIdToken }: SignedIn, { providers }: AccountRouteOptions) {
  if (way.kind !== 'provider' || encryptedIdToken === undefined) return undefined
  return providers.find(({ id }) => id === way.id)
}
