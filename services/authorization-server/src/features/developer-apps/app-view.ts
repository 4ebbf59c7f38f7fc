import { serverMetadataPath } from '@valetkey/oauth-protocol'
import { liveSecrets, mayAddSecret } from '../../platform/clients/client-secret-rules.js'
import { describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language } from '../../platform/i18n/language.js'
import { CLIENT_SETTINGS } from '../../storage/client-settings-table.js'
import type { ClientBranding } from '../../storage/postgres/client-branding.js'
import type { ClientSecret } from '../../storage/postgres/client-secrets.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import { BRANDING_FIELDS } from './app-form-view.js'
import { MOST_INVITATIONS, MOST_TESTERS } from './app-people-store.js'
import { appStateView } from './app-state-view.js'
import type { AppSettings, DeveloperApp } from './developer-app-store.js'
import type { OwnAppDeps } from './own-apps.js'

export type AppSituation = {
  app: DeveloperApp
  secrets: readonly ClientSecret[]
  userCount: number
  catalogue: readonly Scope[]
  /** The owner who looks at the page. */
  userId: string
  mode: OwnAppDeps['mode']
  issuer: string
  /** Resource identifier of the API of scopes without one. */
  defaultAudience: string
}

/** What `account-developer-app.hbs` shows of the app itself. */
export function appView(situation: AppSituation, language: Language) {
  const { app, userCount, catalogue, mode, issuer } = situation
  const { settings, state, pending } = app
  const view = appStateView({ ...app, hasPendingChange: pending !== undefined }, mode)
  const isWaiting = app.requestedAt !== undefined
  return {
    name: settings.name,
    clientId: app.clientId,
    state: view.state,
    stateTone: view.tone,
    nextStep: view.nextStep,
    refusalReason: state === 'disabled' ? '' : (app.refusal ?? ''),
    mayRequest: !isWaiting && (state === 'draft' || (state === 'approved' && pending !== undefined)),
    requestLabel: mode === 'open' ? 'developer.publish' : 'developer.request',
    mayWithdraw: state === 'requested',
    mayWithdrawChange: state === 'approved' && pending !== undefined,
    pending: pending === undefined ? [] : changesOf(settings, pending, issuer),
    users: userCount,
    isConfidential: app.type === 'confidential',
    usesKeys: app.usesKeys,
    redirectUris: settings.redirectUris,
    requiredScopes: settings.requiredScopes.map((name) => describeScope(name, catalogue, language)),
    optionalScopes: settings.optionalScopes.map((name) => describeScope(name, catalogue, language)),
    logoUrl: logoUrlOf(settings, issuer),
    branding: BRANDING.map(({ label, read }) => ({ label, value: read(settings.branding) ?? '' })),
    settings: codeSettings({ ...settings, ...situation, clientId: app.clientId }),
    isDisabled: state === 'disabled',
    ...secretsView(situation.secrets),
    ...peopleView(situation)
  }
}

export function secretsView(secrets: readonly ClientSecret[]) {
  return {
    secrets: liveSecrets(secrets).map(({ secretId, createdAt, lastUsedAt, expiresAt }) => ({
      secretId,
      createdAt,
      lastUsedAt: lastUsedAt ?? '',
      expiresAt: expiresAt ?? ''
    })),
    mayAddSecret: mayAddSecret(secrets),
    knownSecrets: knownSecrets(secrets)
  }
}

/** The live secrets that a page shows. A form with other ones was shown before a change, such as that by a second click. */
export function knownSecrets(secrets: readonly ClientSecret[]): string {
  const ids = liveSecrets(secrets).map(({ secretId }) => secretId)
  return ids.toSorted().join(' ')
}

function peopleView({ app, userId }: AppSituation) {
  const others = app.owners.filter((owner) => owner.userId !== userId && !owner.disabled)
  return {
    owners: app.owners.map((owner) => ({
      value: owner.userId,
      username: owner.username,
      isYou: owner.userId === userId,
      // The last one stays, so that the app has an owner.
      mayRemove: owner.userId !== userId || others.length > 0
    })),
    invitations: app.invitations.map(({ username, transfers }) => ({ username, transfers })),
    mayInvite: app.invitations.length < MOST_INVITATIONS,
    testers: app.testers.map((username) => ({ value: username, username, isYou: false, mayRemove: true })),
    mayAddTester: app.testers.length < MOST_TESTERS,
    mostTesters: MOST_TESTERS,
    hasTesters: app.state === 'draft' || app.state === 'requested'
  }
}

export function logoUrlOf(settings: Pick<AppSettings, 'branding'> | undefined, issuer: string): string {
  const hash = settings?.branding.logo
  return hash === undefined ? '' : `${issuer}/logos/${hash}.png`
}

const BRANDING = BRANDING_FIELDS.map((field) => ({
  label: CLIENT_SETTINGS[field].label,
  read: (branding: ClientBranding) => branding[field]
}))

const FIELDS = [
  { label: 'developer.name', read: ({ name }: AppSettings) => [name] },
  { label: 'developer.redirect_uris', read: ({ redirectUris }: AppSettings) => redirectUris },
  { label: 'developer.scopes_required', read: ({ requiredScopes }: AppSettings) => requiredScopes },
  { label: 'developer.scopes_optional', read: ({ optionalScopes }: AppSettings) => optionalScopes },
  ...BRANDING.map(({ label, read }) => ({ label, read: ({ branding }: AppSettings) => [read(branding) ?? ''] }))
]

/** The fields that a pending change changes. */
function changesOf(live: AppSettings, proposed: AppSettings, issuer: string) {
  const texts = FIELDS.map(({ label, read }) => ({
    label,
    isImage: false,
    live: read(live).filter((value) => value !== ''),
    proposed: read(proposed).filter((value) => value !== '')
  }))
  const logo = {
    label: 'developer.logo',
    isImage: true,
    live: [logoUrlOf(live, issuer)].filter((url) => url !== ''),
    proposed: [logoUrlOf(proposed, issuer)].filter((url) => url !== '')
  }
  return [...texts, logo].filter((field) => field.live.join('\n') !== field.proposed.join('\n'))
}

/** The settings by the names of RFC 8414, RFC 7591 and RFC 8707, to copy. */
export function codeSettings({
  clientId,
  redirectUris,
  requiredScopes,
  optionalScopes,
  issuer,
  catalogue,
  defaultAudience
}: { clientId: string } & Pick<AppSettings, 'redirectUris' | 'requiredScopes' | 'optionalScopes'> &
  Pick<AppSituation, 'issuer' | 'catalogue' | 'defaultAudience'>) {
  const scopes = [...requiredScopes, ...optionalScopes]
  const known = catalogue.filter(({ name }) => scopes.includes(name))
  const resources = new Set(known.map(({ audience }) => audience ?? defaultAudience))
  const entries = [
    ['issuer', issuer],
    ['metadata', new URL(serverMetadataPath(issuer), issuer).href],
    ['authorization_endpoint', `${issuer}/oauth/authorize`],
    ['token_endpoint', `${issuer}/token`],
    ['revocation_endpoint', `${issuer}/oauth/revoke`],
    ['client_id', clientId],
    ...redirectUris.map((uri) => ['redirect_uri', uri]),
    ['scope', scopes.join(' ')],
    ...[...resources].map((resource) => ['resource', resource])
  ]
  return entries.map(([name = '', value = '']) => ({ name, value }))
}
