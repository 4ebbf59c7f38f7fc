import { type ClientLifetimes, objectionToRedirectUri } from '@valetkey/oauth-protocol'
import { MOST_REDIRECT_URIS, readRedirectUris } from '../../platform/clients/read-redirect-uris.js'
import { CLIENT_SETTINGS, type NamesOfKind } from '../../storage/client-settings-table.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { ScopeList } from '../../storage/postgres/scopes.js'
import { AdministrationError } from './administration-error.js'
import { withBranding } from './client-branding.js'
import { keySettingsOf, withKeySettings } from './client-keys.js'
import type { ClientSettings } from './client-members.js'
import { requireProfile, toProfile, withSettingsOfProfile } from './client-profile.js'
import { findAudience, type RegisteredApis } from './find-audience.js'
import { requireName } from './name-of-record.js'
import { didYouMean } from './suggest-scopes.js'

/** A client before any setting. */
export function newClient(clientId: string, type: NewClient['type']): NewClient {
  return {
    clientId,
    name: '',
    type,
    redirectUris: [],
    requiredScopes: [],
    optionalScopes: [],
    requiresPkce: type === 'public',
    issuesRefreshTokens: true,
    consent: 'ask',
    disabled: false,
    verified: false,
    branding: {}
  }
}

/** The settings of a client; the inverse of `withSettings`. */
export function settingsOf(client: NewClient): ClientSettings {
  return {
    name: client.name,
    redirectUris: client.redirectUris,
    requiredScopes: client.requiredScopes,
    optionalScopes: client.optionalScopes,
    resources: client.audiences ?? [],
    refresh: client.issuesRefreshTokens,
    refreshRotation: client.keepsRefreshTokens !== true,
    requirePkce: client.requiresPkce,
    dpopBound: client.dpopBound === true,
    requirePar: client.requiresPushedRequests === true,
    profile: client.profile ?? 'none',
    consent: client.consent,
    verified: client.verified,
    ...client.branding,
    accessTokenTtl: client.lifetimes?.accessToken,
    refreshTokenIdleTtl: client.lifetimes?.refreshTokenIdle,
    refreshTokenMaxTtl: client.lifetimes?.refreshTokenMax,
    ...keySettingsOf(client)
  }
}

/** Returns the client with these settings, validated except for the scope catalogue. */
export async function withSettings<Known extends NewClient>(
  client: Known,
  given: ClientSettings,
  apis: RegisteredApis
): Promise<Known> {
  const settings = withSettingsOfProfile(given, client.type)
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
    dpopBound: (settings.dpopBound ?? client.dpopBound) || undefined,
    requiresPushedRequests: (settings.requirePar ?? client.requiresPushedRequests) || undefined,
    profile: toProfile(settings.profile, client.profile),
    issuesRefreshTokens: settings.refresh ?? client.issuesRefreshTokens,
    keepsRefreshTokens:
      (settings.refreshRotation === undefined ? client.keepsRefreshTokens : !settings.refreshRotation) || undefined,
    consent: toConsent(settings.consent ?? client.consent),
    verified: settings.verified ?? (client.verified && isSameIdentity(client, { name, branding })),
    lifetimes: toLifetimes(client.lifetimes, settings),
    ...(await withKeySettings(client, settings))
  }
  if (changed.requiredScopes.length + changed.optionalScopes.length === 0) {
    throw invalid('pass at least one scope, required or optional')
  }
  if (changed.type === 'public' && changed.consent === 'remember') {
    throw invalid('consent must be ask for a public client')
  }
  if (changed.type === 'public' && !changed.requiresPkce) throw invalid('a public client must use PKCE')
  requireProfile(changed)
  if (changed.type === 'public' && changed.keepsRefreshTokens)
    throw invalid('a public client must rotate refresh tokens')
  return changed
}

type Identity = Pick<NewClient, 'name' | 'branding'>

/** An operator verified the client under this name, publisher and home page. */
function isSameIdentity(before: Identity, after: Identity): boolean {
  const of = ({ name, branding: { publisher, homePage } }: Identity) => JSON.stringify([name, publisher, homePage])
  return of(before) === of(after)
}

/** A longer catalogue is not printed in an error. */
const MOST_NAMED_SCOPES = 12

/** @param names the new scopes; a client may keep a scope that was deleted from the catalogue */
export async function requireKnownScopes(names: readonly string[], scopes: ScopeList): Promise<void> {
  if (names.length === 0) return
  const known = (await scopes.list()).map((scope) => scope.name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  const hasComma = unknown.some((name) => name.includes(','))
  const hint = hasComma ? 'separate scopes by spaces, not by commas' : (didYouMean(unknown, known) ?? contentOf(known))
  throw invalid(`not in the scope catalogue: ${unknown.join(' ')} (${hint})`)
}

function contentOf(catalogue: readonly string[]): string {
  return catalogue.length > 0 && catalogue.length <= MOST_NAMED_SCOPES
    ? `it has ${catalogue.join(' ')}`
    : 'see valetkey scopes list'
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
  const lifetime = (name: NamesOfKind<'seconds'>, current: number | undefined): number | undefined => {
    const given = settings[name]
    const { member, most } = CLIENT_SETTINGS[name]
    if (given === undefined) return current
    if (given === null) return undefined
    if (Number.isInteger(given) && given >= 1 && given <= most) return given
    throw invalid(`${member} must be a whole number of seconds from 1 to ${most}`)
  }
  const lifetimes = {
    accessToken: lifetime('accessTokenTtl', own?.accessToken),
    refreshTokenIdle: lifetime('refreshTokenIdleTtl', own?.refreshTokenIdle),
    refreshTokenMax: lifetime('refreshTokenMaxTtl', own?.refreshTokenMax)
  }
  return Object.values(lifetimes).every((each) => each === undefined) ? undefined : lifetimes
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
