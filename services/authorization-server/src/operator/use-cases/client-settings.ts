import { type ClientLifetimes, objectionToRedirectUri } from '@valetkey/oauth-protocol'
import { MOST_REDIRECT_URIS, readRedirectUris } from '../../platform/clients/read-redirect-uris.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { ScopeList } from '../../storage/postgres/scopes.js'
import { AdministrationError } from './administration-error.js'
import { type BrandingSettings, withBranding } from './client-branding.js'
import { findAudience, type RegisteredApis } from './find-audience.js'
import { requireName } from './name-of-record.js'

/** The settings of a client. Undefined: unchanged. A lifetime of null: the server's value. */
export type ClientSettings = BrandingSettings & {
  name?: string | undefined
  redirectUris?: readonly string[] | undefined
  /** Each element is one scope, or several separated by spaces. */
  requiredScopes?: readonly string[] | undefined
  optionalScopes?: readonly string[] | undefined
  /** Names or identifiers of resource servers; empty: the APIs of the client's scopes. */
  resources?: readonly string[] | undefined
  refresh?: boolean | undefined
  requirePkce?: boolean | undefined
  consent?: string | undefined
  verified?: boolean | undefined
  accessTokenTtl?: number | null | undefined
  refreshTokenIdleTtl?: number | null | undefined
  refreshTokenMaxTtl?: number | null | undefined
}

const DAY = 86_400
/** The maximum values of the server's settings. */
export const LONGEST = { accessTokenTtl: 30 * DAY, refreshTokenIdleTtl: 3650 * DAY, refreshTokenMaxTtl: 3650 * DAY }

/** Returns the client with these settings, validated except for the scope catalogue. */
export async function withSettings<Known extends NewClient>(
  client: Known,
  settings: ClientSettings,
  apis: RegisteredApis
): Promise<Known> {
  const required = settings.requiredScopes === undefined ? client.requiredScopes : toScopes(settings.requiredScopes)
  const optional = settings.optionalScopes === undefined ? client.optionalScopes : toScopes(settings.optionalScopes)
  const name = settings.name === undefined ? client.name : requireName(settings.name)
  const branding = withBranding(client.branding, settings)
  const changed = {
    ...client,
    name,
    branding,
    redirectUris: settings.redirectUris === undefined ? client.redirectUris : toRedirectUris(settings.redirectUris),
    requiredScopes: required,
    optionalScopes: optional.filter((scope) => !required.includes(scope)),
    audiences: settings.resources === undefined ? client.audiences : await toAudiences(settings.resources, apis),
    requiresPkce: settings.requirePkce ?? client.requiresPkce,
    issuesRefreshTokens: settings.refresh ?? client.issuesRefreshTokens,
    consent: toConsent(settings.consent ?? client.consent),
    verified: settings.verified ?? (client.verified && isSameIdentity(client, { name, branding })),
    lifetimes: toLifetimes(client.lifetimes, settings)
  }
  if (changed.requiredScopes.length + changed.optionalScopes.length === 0) {
    throw invalid('pass at least one scope, required or optional')
  }
  if (changed.type === 'public' && changed.consent === 'remember') {
    throw invalid('consent must be ask for a public client')
  }
  if (changed.type === 'public' && !changed.requiresPkce) throw invalid('a public client must use PKCE')
  return changed
}

type Identity = Pick<NewClient, 'name' | 'branding'>

/** An operator verified the client under this name, publisher and home page. */
function isSameIdentity(before: Identity, after: Identity): boolean {
  const of = ({ name, branding: { publisher, homePage } }: Identity) => JSON.stringify([name, publisher, homePage])
  return of(before) === of(after)
}

/** @param names the new scopes; a client may keep a scope that was deleted from the catalogue */
export async function requireKnownScopes(names: readonly string[], scopes: ScopeList): Promise<void> {
  if (names.length === 0) return
  const known = (await scopes.list()).map((scope) => scope.name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  const hint = unknown.some((name) => name.includes(',')) ? 'separate scopes by spaces, not by commas' : undefined
  throw invalid(`not in the scope catalogue: ${unknown.join(' ')} (${hint ?? 'see valetkey scopes list'})`)
}

function toRedirectUris(given: readonly string[]): readonly string[] {
  const outcome = readRedirectUris(given)
  switch (outcome.kind) {
    case 'redirect_uris':
      return outcome.redirectUris
    case 'malformed':
      throw invalid(`the redirect URI ${JSON.stringify(outcome.uri)} ${objectionToRedirectUri(outcome.uri)}`)
    case 'missing':
      throw invalid('pass at least one redirect URI')
    case 'too_many':
      throw invalid(`a client has at most ${MOST_REDIRECT_URIS} redirect URIs`)
  }
}

async function toAudiences(resources: readonly string[], apis: RegisteredApis): Promise<readonly string[] | undefined> {
  const audiences = new Set<string>()
  for (const resource of resources) if (resource !== '') audiences.add(await findAudience(resource, apis))
  return audiences.size === 0 ? undefined : [...audiences]
}

function toScopes(lists: readonly string[]): readonly string[] {
  return [...new Set(lists.flatMap((list) => list.split(/\s+/)).filter((name) => name !== ''))]
}

function toConsent(consent: string): 'ask' | 'remember' {
  if (consent !== 'ask' && consent !== 'remember') throw invalid('consent must be ask or remember')
  return consent
}

function toLifetimes(own: ClientLifetimes | undefined, settings: ClientSettings): ClientLifetimes | undefined {
  const lifetime = (name: keyof typeof LONGEST, current: number | undefined): number | undefined => {
    const given = settings[name]
    if (given === undefined) return current
    if (given === null) return undefined
    if (Number.isInteger(given) && given >= 1 && given <= LONGEST[name]) return given
    throw invalid(`${WIRE_NAME[name]} must be a whole number of seconds from 1 to ${LONGEST[name]}`)
  }
  const lifetimes = {
    accessToken: lifetime('accessTokenTtl', own?.accessToken),
    refreshTokenIdle: lifetime('refreshTokenIdleTtl', own?.refreshTokenIdle),
    refreshTokenMax: lifetime('refreshTokenMaxTtl', own?.refreshTokenMax)
  }
  return Object.values(lifetimes).every((each) => each === undefined) ? undefined : lifetimes
}

const WIRE_NAME = {
  accessTokenTtl: 'access_token_ttl',
  refreshTokenIdleTtl: 'refresh_token_idle_ttl',
  refreshTokenMaxTtl: 'refresh_token_max_ttl'
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
