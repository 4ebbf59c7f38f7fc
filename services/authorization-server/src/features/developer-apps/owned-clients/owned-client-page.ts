import { isClientId, isClientIdentifier } from '@valetkey/oauth-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../../browser/account/account-navigation.js'
import type { FormPage } from '../../../browser/csrf/check-form.js'
import { isFresh, type SignedIn } from '../../../browser/session/session-plugin.js'
import { allowScripts, COPY_SCRIPTS } from '../../../http/security-headers.js'
import { initialsOf } from '../../../platform/clients/app-badge.js'
import { describeScope } from '../../../platform/i18n/describe-scope.js'
import { codeSettings, secretsView } from '../app-view.js'
import { confirmUrl, csrfTokenFor, type DeveloperPageOptions, refuse } from '../developer-page.js'
import type { OwnedClient, OwnedClientStore } from './owned-client-store.js'

export type OwnedClientPageOptions = FormPage &
  Pick<DeveloperPageOptions, 'limiter' | 'now' | 'defaultAudience' | 'secrets' | 'scopes' | 'randomBytes'> & {
    ownedClients: OwnedClientStore
  }

/** @property problem key of the reason why a form was not accepted */
type ShownClient = { user: SignedIn; clientId: string; done?: string | undefined; problem?: string }

export const clientUrl = (issuer: string, clientId: string) =>
  `${issuer}/account/developer/clients/${encodeURIComponent(clientId)}`

/** The page below `/account` to which a sign-in returns. The id of a client may be a URL, which is no part of a path. */
export const clientPage = (clientId: string) =>
  isClientIdentifier(clientId) ? `developer/clients/${clientId}` : 'developer'

/** @returns undefined for a client that does not exist and for those of other users */
export async function findOwnedClient(
  { userId }: SignedIn,
  clientId: string,
  { ownedClients }: Pick<OwnedClientPageOptions, 'ownedClients'>
): Promise<OwnedClient | undefined> {
  return isClientId(clientId) ? ownedClients.findOwn(userId, clientId) : undefined
}

/** Clients in the list of what a user develops. */
export function listedClients(clients: readonly OwnedClient[], issuer: string) {
  return clients.map(({ clientId, name, logo, disabled }) => ({
    name,
    initials: initialsOf(name),
    logoUrl: logoUrl(logo, issuer),
    url: clientUrl(issuer, clientId),
    isDisabled: disabled
  }))
}

export async function showOwnedClient(
  { user, clientId, done, problem }: ShownClient,
  request: FastifyRequest,
  reply: FastifyReply,
  options: OwnedClientPageOptions
): Promise<FastifyReply> {
  const { issuer, cookieKeys, now, defaultAudience } = options
  const client = await findOwnedClient(user, clientId, options)
  if (client === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
  const hasSecrets = client.type === 'confidential' && !client.usesKeys
  const changesSecrets = hasSecrets && client.changesSecrets
  const [catalogue, secrets] = await Promise.all([
    options.scopes.list(),
    changesSecrets ? options.secrets.list(clientId) : []
  ])
  const describe = (name: string) => describeScope(name, catalogue, request.language)
  allowScripts(reply)
  return reply.code(problem === undefined ? 200 : 422).view('account-developer-client.hbs', {
    title: { key: 'developer.app_title', values: { client: client.name } },
    account: accountNavigation(issuer, 'developer'),
    scripts: COPY_SCRIPTS,
    done: problem === undefined && done === 'secret_removed' ? 'developer.done_secret_removed' : '',
    problem: problem ?? '',
    name: client.name,
    clientId,
    logoUrl: logoUrl(client.logo, issuer),
    isDisabled: client.disabled,
    isConfidential: client.type === 'confidential',
    usesKeys: client.usesKeys,
    redirectUris: client.redirectUris,
    requiredScopes: client.requiredScopes.map(describe),
    optionalScopes: client.optionalScopes.map(describe),
    settings: codeSettings({ ...client, catalogue, issuer, defaultAudience }),
    hasSecrets,
    changesSecrets,
    ...secretsView(secrets),
    confirmUrl: isFresh(user, now()) ? '' : confirmUrl(issuer, clientPage(clientId)),
    csrfToken: csrfTokenFor(user, request, cookieKeys),
    listUrl: `${issuer}/account/developer`,
    url: clientUrl(issuer, clientId)
  })
}

function logoUrl(hash: string | undefined, issuer: string): string {
  return hash === undefined ? '' : `${issuer}/logos/${hash}.png`
}
