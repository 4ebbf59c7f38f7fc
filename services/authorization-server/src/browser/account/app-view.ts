import { isClientIdUrl } from '@valetkey/oauth-protocol'
import type { AccessEnds } from '../../platform/access-ends.js'
import { type AppBadge, appBadge } from '../../platform/clients/app-badge.js'
import { type DescribedApi, describeApi } from '../../platform/i18n/describe-api.js'
import { type DescribedScope, describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { Selections } from '../../platform/selections.js'
import type { ConnectedApp } from '../../storage/postgres/connected-apps.js'
import type { Api } from '../../storage/postgres/resource-servers.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import type { UsedAction } from './app-history.js'

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
  /** How much time is left; empty if the user chose no end. */
  timeLeft: Message | ''
  /** What it did, the newest use first; and that one alone. */
  history: readonly UsedAction[]
  latest: readonly UsedAction[]
  /** The page that asks before the access is ended. */
  endUrl: string
  /** The page that makes the end of the access earlier. Empty if it cannot be. */
  shortenUrl: string
  /** What the user chose for it. */
  choices: readonly AppChoice[]
}

type AppChoice = {
  summary: string
  audience: string
  identifier: string
  /** Target of the form that changes it. Empty if it cannot be. */
  changeUrl: string
}

type AppSurroundings = {
  catalogue: readonly Scope[]
  apis: readonly Api[]
  issuer: string
  /** Undefined: users do not choose when access ends. */
  accessEnds: AccessEnds | undefined
  /** Undefined: users choose nothing at APIs. */
  selections: Selections | undefined
  /** What the app did. */
  history: readonly UsedAction[]
}

/** The texts about one connected app. */
export function appView(
  app: ConnectedApp,
  { catalogue, apis, issuer, accessEnds, selections, history }: AppSurroundings,
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
    apis: app.audiences.map((audience) => describeApi(audience, apis, language)),
    since,
    lastUsed: app.lastUsedAt ?? '',
    live,
    away: whileAway(app, now),
    history,
    latest: history.slice(0, 1),
    timeLeft: app.endsAt === undefined ? '' : timeLeft(app.endsAt, now, language),
    endUrl: `${issuer}/account/apps/end?${new URLSearchParams({ client_id: clientId })}`,
    shortenUrl: accessEnds?.shorteningUrl(app, now) ?? '',
    choices: app.chosen.map(({ summary, audience, identifier }) => ({
      summary,
      audience,
      identifier,
      changeUrl: selections?.changeUrl ?? ''
    }))
  }
}

function whileAway({ live, refreshableUntil }: ConnectedApp, now: Date): Message {
  if (!live) return { key: 'account.asks_again' }
  return refreshableUntil !== undefined && refreshableUntil > now
    ? { key: 'account.away_yes', values: { date: refreshableUntil } }
    : { key: 'account.away_no' }
}

/** The server does not know the time zone of the user, so this is a duration. It is rounded up, to minutes, hours or days. */
function timeLeft(endsAt: Date, now: Date, language: Language): Message {
  const seconds = Math.max(1, (endsAt.getTime() - now.getTime()) / 1000)
  const unit = seconds > 2 * DAY ? DAY : seconds > 2 * HOUR ? HOUR : MINUTE
  return { key: 'account.time_left', values: { time: language.duration(Math.ceil(seconds / unit) * unit) } }
}

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
