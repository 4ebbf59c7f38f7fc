import {
  type AuthorizationOutcome,
  type AuthorizationRequest,
  type FormParameters,
  isClientId,
  isClientIdUrl,
  leadsToOwnDevice,
  readMaxAge,
  readPrompt,
  validateAuthorizationRequest
} from '@valetkey/oauth-protocol'
import type { ClientStore, NewClient } from '../../storage/postgres/clients.js'
import type { Api, ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { NumberedScope, ScopeStore } from '../../storage/postgres/scopes.js'
import type { ClientFinder, RefusedClient, Visitor } from './client-finder.js'
import type { SentRequest } from './pending-request.js'
import { type ReferredRequest, type RequestReferences, referredParameters } from './request-references.js'

export type ValidationDeps = {
  clients: Pick<ClientStore, 'find'>
  resourceServers: Pick<ResourceServerStore, 'listApis'>
  scopes: Pick<ScopeStore, 'list'>
  defaultAudience: string
  /** The right to use an unpublished client. */
  rights: Pick<ClientStore, 'isUsableBy'>
  /** Undefined if only registered clients are accepted (`CLIENT_ID_METADATA=off`). */
  finder?: ClientFinder | undefined
  /** Whether codes are bound to the key of `dpop_jkt`. */
  bindsToKeys: boolean
  /** Undefined if clients cannot send requests before. */
  references?: RequestReferences | undefined
}

/** The request of a client that may be looked at only after sign-in. */
type UnreadRequest = Pick<AuthorizationRequest, 'prompt' | 'maxAge'>

/** @property newestScope the greatest number of a requested scope: what the user allows has none with a greater one (ADR 0041) */
export type ValidatedRequest =
  | Exclude<AuthorizationOutcome, { kind: 'accepted' | 'redirect_error' }>
  | (Extract<AuthorizationOutcome, { kind: 'redirect_error' }> & ErrorRule)
  | { kind: 'show_error_page'; reason: 'request_too_long' | 'app_not_published' | 'invalid_request_uri' }
  | RefusedClient
  | (Unread & { kind: 'client_unread'; request: UnreadRequest; client: undefined })
  | (Accepted & ErrorRule)

type Accepted = {
  kind: 'accepted'
  request: AuthorizationRequest
  client: NewClient
  newestScope: number
  /** The requested scope for which the user chooses at the API. Undefined: none. */
  selectingScope?: string
  /** Introspection at the API of the request says when the user signed in. */
  sendsAuthTime: boolean
  /** Only for a request that the client has sent before. */
  referred?: ReferredRequest
}

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

const TOO_LONG = { kind: 'show_error_page', reason: 'request_too_long' } as const

const UNKNOWN = { kind: 'show_error_page', reason: 'unknown_client' } as const

/**
 * Finds the client of a request, the APIs and their scopes, and validates the request. Every step does this again, so that a change
 * of the client takes effect at once.
 * @param includesUsed whether a pushed request that was used is accepted: for a form that is sent twice
 */
export function validateRequest(
  { query, parameters }: SentRequest,
  deps: ValidationDeps,
  visitor: Visitor,
  includesUsed = false
): Promise<ValidatedRequest> {
  if (query.length > MAX_QUERY_LENGTH) return Promise.resolve(TOO_LONG)
  const { references } = deps
  return references?.areIn(parameters) === true
    ? validateReferred(parameters, references, { deps, visitor, includesUsed })
    : validateParameters(parameters, deps, visitor)
}

async function validateReferred(
  parameters: FormParameters,
  references: RequestReferences,
  { deps, visitor, includesUsed }: { deps: ValidationDeps; visitor: Visitor; includesUsed: boolean }
): Promise<ValidatedRequest> {
  const referred = await references.find(parameters, visitor, includesUsed)
  if (referred === undefined) return { kind: 'show_error_page', reason: 'invalid_request_uri' }
  visitor.uiLocales = referred.parameters.get('ui_locales')
  const validated = await validateParameters(referredParameters(referred, parameters), deps, visitor, true)
  return validated.kind === 'accepted' ? { ...validated, referred } : validated
}

async function validateParameters(
  parameters: FormParameters,
  deps: ValidationDeps,
  visitor: Visitor,
  isReferred = false
): Promise<ValidatedRequest> {
  const found = await findClient(parameters.get('client_id'), deps, visitor)
  // A request of an unknown client needs no more lookups.
  if (found.kind === 'show_error_page' || found.kind === 'client_refused') return found
  if (found.kind === 'unread') {
    const request = { prompt: readPrompt(parameters), maxAge: readMaxAge(parameters) }
    return { kind: 'client_unread', reason: found.reason, request, client: undefined }
  }
  const { client } = found
  const apis = await deps.resourceServers.listApis()
  const catalogue = catalogueOf(deps, apis, await deps.scopes.list())
  const isPushMissing = !isReferred && (client.requiresPushedRequests === true || deps.references?.areRequired === true)
  const context = { client, catalogue, bindsToKeys: deps.bindsToKeys, isPushMissing }
  const outcome = validateAuthorizationRequest(parameters, context)
  if (outcome.kind === 'show_error_page') return outcome
  const redirectUri = outcome.kind === 'accepted' ? outcome.request.redirectUri : outcome.redirectUri
  const showsErrors = isUnlisted(client, deps) && !leadsToOwnDevice(redirectUri)
  if (outcome.kind !== 'accepted') return { ...outcome, showsErrors }
  // The scopes are of the same list as those of the request, so that a change of the catalogue meanwhile cannot be missed.
  let newestScope = 0
  let selectingScope: string | undefined
  for (const { name, number, selects } of catalogue.scopes) {
    if (!selects && number <= newestScope) continue
    if (!outcome.request.scope.includes(name)) continue
    newestScope = Math.max(newestScope, number)
    if (selects) selectingScope = name
  }
  const sendsAuthTime = apis.some((api) => api.sendsAuthTime === true && api.audience === outcome.request.audience)
  const accepted = { request: outcome.request, client, newestScope, sendsAuthTime, showsErrors }
  return { kind: 'accepted', ...accepted, ...(selectingScope !== undefined && { selectingScope }) }
}

/** The APIs and scopes that a request can ask for. */
export function catalogueOf(
  { defaultAudience }: Pick<ValidationDeps, 'defaultAudience'>,
  apis: readonly Api[],
  scopes: readonly NumberedScope[]
) {
  return { defaultAudience, audiences: apis.map(({ audience }) => audience), scopes }
}

/** @param name undefined: all are returned */
export function withoutScope(scope: readonly string[], name: string | undefined): readonly string[] {
  return name === undefined ? scope : scope.filter((each) => each !== name)
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
