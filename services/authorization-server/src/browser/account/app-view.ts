import { type DescribedApi, describeApi } from '../../platform/i18n/describe-api.js'
import { type DescribedScope, describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { ConnectedApp } from '../../storage/postgres/connected-apps.js'
import type { Api } from '../../storage/postgres/resource-servers.js'
import type { Scope } from '../../storage/postgres/scopes.js'

export type AppView = {
  clientId: string
  name: string
  verified: boolean
  scopes: readonly DescribedScope[]
  /** The APIs that it has access to. */
  apis: readonly DescribedApi[]
  since: Date
  lastUsed: Date | ''
  live: boolean
  /** Whether it can read files while the user does not use it. */
  away: Message
}

/** The texts about one connected app. */
export function appView(
  app: ConnectedApp,
  { catalogue, apis }: { catalogue: readonly Scope[]; apis: readonly Api[] },
  language: Language,
  now: Date
): AppView {
  const { clientId, name, verified, since, live } = app
  return {
    clientId,
    name,
    verified,
    scopes: app.scope.map((scope) => describeScope(scope, catalogue, language)),
    apis: app.audiences.map((audience) => describeApi(audience, apis)),
    since,
    lastUsed: app.lastUsedAt ?? '',
    live,
    away: whileAway(app, now)
  }
}

function whileAway({ live, refreshableUntil }: ConnectedApp, now: Date): Message {
  if (!live) return { key: 'account.asks_again' }
  return refreshableUntil !== undefined && refreshableUntil > now
    ? { key: 'account.away_yes', values: { date: refreshableUntil } }
    : { key: 'account.away_no' }
}
