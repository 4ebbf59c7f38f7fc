import {
  type AuthorizationOutcome,
  type AuthorizationRequest,
  isClientId,
  isClientIdUrl,
  leadsToOwnDevice,
  readPrompt,
  validateAuthorizationRequest
} from '@valetkey/oauth-protocol'
import type { ClientStore, NewClient } from '../../storage/postgres/clients.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { ScopeStore } from '../../storage/postgres/scopes.js'
import type { ClientFinder, RefusedClient, Visitor } from './client-finder.js'
import type { SentRequest } from './pending-request.js'

export type ValidationDeps = {
  clients: Pick<ClientStore, 'find'>
  resourceServers: Pick<ResourceServerStore, 'listApis'>
  scopes: Pick<ScopeStore, 'list'>
  defaultAudience: string
  /** The right to use an unpublished client. */
  rights: Pick<ClientStore, 'isUsableBy'>
  /** Undefined if only registered clients are accepted (`CLIENT_ID_METADATA=off`). */
  finder?: ClientFinder | undefined
}

/** The request of a client that may be looked at only after sign-in. */
type UnreadRequest = Pick<AuthorizationRequest, 'prompt'>

/** @property newestScope the greatest number of a requested scope: what the user allows has none with a greater one (ADR 0041) */
export type ValidatedRequest =
  | Exclude<AuthorizationOutcome, { kind: 'accepted' | 'redirect_error' }>
  | (Extract<AuthorizationOutcome, { kind: 'redirect_error' }> & ErrorRule)
  | { kind: 'show_error_page'; reason: 'request_too_long' | 'app_not_published' }
  | RefusedClient
  | (Unread & { kind: 'client_unread'; request: UnreadRequest; client: undefined })
  | ({ kind: 'accepted'; request: AuthorizationRequest; client: NewClient; newestScope: number } & ErrorRule)

/**
 * @property showsErrors errors that are found before the user has decided are shown on a page, and not sent to the redirect URI.
 *   Any person can publish a document, and any user may register an app; neither must be able to make this service redirect
 *   browsers to their website (RFC 9700 §4.11.2).
 */
type ErrorRule = { showsErrors: boolean }

/** What the user is told if they are not asked to sign in (`prompt=none`). */
type Unread = { reason: 'unknown_client' | 'app_not_published' }

type FoundClient =
  | { kind: 'client'; client: NewClient }
  | Extract<ValidatedRequest, { kind: 'show_error_page' | 'client_refused' }>
  | (Unread & { kind: 'unread' })

// The query is in the addresses of all pages and in the Referer of their forms, which must fit into the request headers.
const MAX_QUERY_LENGTH = 8_000

const UNKNOWN = { kind: 'show_error_page', reason: 'unknown_client' } as const

/**
 * Finds the client of a request, the APIs and their scopes, and validates the request. Every step does this again, so that a change
 * of the client takes effect at once.
 */
export async function validateRequest(
  { query, parameters }: SentRequest,
  deps: ValidationDeps,
  visitor: Visitor
): Promise<ValidatedRequest> {
  if (query.length > MAX_QUERY_LENGTH) return { kind: 'show_error_page', reason: 'request_too_long' }
  const found = await findClient(parameters.get('client_id'), deps, visitor)
  // A request of an unknown client needs no more lookups.
  if (found.kind === 'show_error_page' || found.kind === 'client_refused') return found
  if (found.kind === 'unread') {
    const request = { prompt: readPrompt(parameters) }
    return { kind: 'client_unread', reason: found.reason, request, client: undefined }
  }
  const { client } = found
  const catalogue = {
    defaultAudience: deps.defaultAudience,
    audiences: (await deps.resourceServers.listApis()).map(({ audience }) => audience),
    scopes: await deps.scopes.list()
  }
  const outcome = validateAuthorizationRequest(parameters, { client, catalogue })
  if (outcome.kind === 'show_error_page') return outcome
  const redirectUri = outcome.kind === 'accepted' ? outcome.request.redirectUri : outcome.redirectUri
  const showsErrors = isUnlisted(client, deps) && !leadsToOwnDevice(redirectUri)
  if (outcome.kind !== 'accepted') return { ...outcome, showsErrors }
  // The scopes are of the same list as those of the request, so that a change of the catalogue meanwhile cannot be missed.
  let newestScope = 0
  for (const { name, number } of catalogue.scopes) {
    if (number > newestScope && outcome.request.scope.includes(name)) newestScope = number
  }
  return { kind: 'accepted', request: outcome.request, client, newestScope, showsErrors }
}

/** A client whose document no operator has named, or an app of a user whose redirect URIs no operator has seen. */
function isUnlisted({ clientId, isDiscovered, isUnreviewed }: NewClient, { finder }: ValidationDeps): boolean {
  return isUnreviewed === true || (isDiscovered === true && finder?.isListed(clientId) !== true)
}

/** A client that an operator registered has priority over a document with the same id. */
async function findClient(clientId: string | undefined, deps: ValidationDeps, visitor: Visitor): Promise<FoundClient> {
  if (clientId === undefined) return UNKNOWN
  if (!isClientId(clientId)) return deps.finder?.refuseMalformed(clientId) ?? UNKNOWN
  const stored = await deps.clients.find(clientId)
  if (stored !== undefined && stored.isDiscovered !== true) {
    if (stored.disabled) return UNKNOWN
    return stored.isUnpublished === true ? findUnpublished(stored, deps, visitor) : { kind: 'client', client: stored }
  }
  if (deps.finder === undefined || !isClientIdUrl(clientId)) return UNKNOWN
  return deps.finder.find(clientId, stored, visitor)
}

/**
 * An app that works only for its owners and testers. For all others nothing of its request is used: any user may register an app,
 * and must not be able to make this service redirect browsers to their address.
 */
async function findUnpublished(
  client: NewClient,
  { rights }: Pick<ValidationDeps, 'rights'>,
  visitor: Visitor
): Promise<FoundClient> {
  const user = visitor.signedIn ?? (await visitor.verifySession())
  if (user === undefined) return { kind: 'unread', reason: 'app_not_published' }
  if (await rights.isUsableBy(user.userId, client.clientId)) return { kind: 'client', client }
  return { kind: 'show_error_page', reason: 'app_not_published' }
}
