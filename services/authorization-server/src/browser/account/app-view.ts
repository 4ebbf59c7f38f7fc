import { isClientIdUrl } from '@valetkey/oauth-protocol'
import { type AppBadge, appBadge } from '../../platform/clients/app-badge.js'
import { type DescribedApi, describeApi } from '../../platform/i18n/describe-api.js'
import { type DescribedScope, describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { ConnectedApp } from '../../storage/postgres/connected-apps.js'
import type { Api } from '../../storage/postgres/resource-servers.js'
import type { Scope } from '../../storage/postgres/scopes.js'

export type AppView = {
  clientId: string
  name: string
  /** Host of the client id, if no operator registered the app: it chose its own name. Else empty. */
  host: string
  badge: AppBadge
  scopes: readonly DescribedScope[]
  /** The APIs that it has access to. */
  apis: readonly DescribedApi[]
  since: Date
  lastUsed: Date | ''
  live: boolean
  /** Whether it can read files while the user does not use it. */
  away: Message
  /** The page that asks before the access is ended. */
  endUrl: string
}

/** The texts about one connected app. */
export function appView(
  app: ConnectedApp,
  { catalogue, apis, issuer }: { catalogue: readonly Scope[]; apis: readonly Api[]; issuer: string },
  language: Language,
  now: Date
): AppView {
  const { clientId, name, since, live } = app
  return {
    clientId,
    name,
    host: isClientIdUrl(clientId) ? new URL(clientId).host : '',
    badge: appBadge(app, issuer),
    scopes: app.scope.map((scope) => describeScope(scope, catalogue, language)),
    apis: app.audiences.map((audience) => describeApi(audience, apis)),
    since,
    lastUsed: app.lastUsedAt ?? '',
    live,
    away: whileAway(app, now),
    endUrl: `${issuer}/account/apps/end?${new URLSearchParams({ client_id: clientId })}`
  }
}

function whileAway({ live, refreshableUntil }: ConnectedApp, now: Date): Message {
  if (!live) return { key: 'account.asks_again' }
  return refreshableUntil !== undefined && refreshableUntil > now
    ? { key: 'account.away_yes', values: { date: refreshableUntil } }
    : { key: 'account.away_no' }
}
