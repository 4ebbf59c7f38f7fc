import {
  type AuthorizationOutcome,
  type Client,
  type FormParameters,
  hashToken,
  newOpaqueToken,
  OAuthError,
  parseParameters,
  type RandomBytes,
  validateAuthorizationRequest,
  withoutParameters
} from '@valetkey/oauth-protocol'
import { catalogueOf, type ValidationDeps } from '../../browser/pending-requests/validate-request.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { pushedRequestLimit } from '../../platform/rate-limits/rules.js'
import { REQUEST_URN } from './find-pushed-request.js'
import type { PushedRequestStore } from './pushed-request-store.js'

/** Seconds in which a browser must open a pushed request (RFC 9126 §2.2: 5 to 600). */
const LIFETIME_SECONDS = 90

/** Parameters that authenticate the client. They are no part of the authorization request. */
const CREDENTIALS = ['client_secret', 'client_assertion', 'client_assertion_type']

export type PushDeps = {
  validation: Pick<ValidationDeps, 'defaultAudience' | 'resourceServers' | 'scopes' | 'bindsToKeys'>
  requests: Pick<PushedRequestStore, 'put'>
  limiter: Pick<Limiter, 'count'>
  randomBytes: RandomBytes
}

/** @property body the form as it was sent @property dpopJkt thumbprint of the key of the proof; undefined without a proof */
type SentPush = { body: string; address: string; dpopJkt: string | undefined }

/** @property expires_in seconds */
export type PushedResponse = { request_uri: string; expires_in: number }

/**
 * Validates and stores an authorization request of an authenticated client (RFC 9126 §2.1). `/oauth/authorize` validates it again,
 * because the client may change.
 * @throws {OAuthError} what `/oauth/authorize` would report, also if that would be a page
 * @throws {TooManyAttempts}
 */
export async function pushRequest(
  { body, address, dpopJkt }: SentPush,
  client: Client,
  deps: PushDeps
): Promise<PushedResponse> {
  const query = withKeyOfProof(queryOfClient(body, client), dpopJkt)
  const parameters = parseParameters(query)
  refuseReference(parameters)
  const outcome = await validate(parameters, client, deps.validation)
  if (outcome.kind !== 'accepted') throw toError(outcome)
  await deps.limiter.count(pushedRequestLimit(client, address))
  const token = newOpaqueToken('requestUri', deps.randomBytes)
  await deps.requests.put(hashToken(token), query, LIFETIME_SECONDS * 1000)
  return { request_uri: REQUEST_URN + token, expires_in: LIFETIME_SECONDS }
}

/** The parameters for `/oauth/authorize`. A client that uses the Authorization header may leave its id out. */
function queryOfClient(body: string, { clientId }: Client): string {
  const others = withoutParameters(body, ['client_id', ...CREDENTIALS])
  return `client_id=${encodeURIComponent(clientId)}&${others}`
}

/** A proof acts as `dpop_jkt` (RFC 9449 §10.1). Beside one that cannot be read it is a repeated parameter, which is refused. */
function withKeyOfProof(query: string, dpopJkt: string | undefined): string {
  if (dpopJkt === undefined) return query
  const jkt = parseParameters(query).get('dpop_jkt')
  if (jkt === undefined) return `${query}&dpop_jkt=${dpopJkt}`
  if (jkt === dpopJkt) return query
  throw new OAuthError('invalid_request', 'dpop_jkt is not the thumbprint of the key of the DPoP proof.')
}

function refuseReference(parameters: FormParameters): void {
  const name = 'request_uri'
  if (parameters.get(name) === undefined && !parameters.isRepeated(name) && !parameters.isMalformed(name)) return
  // RFC 9126 §2.1
  throw new OAuthError('invalid_request', 'The parameter request_uri must not be pushed.')
}

async function validate(
  parameters: FormParameters,
  client: Client,
  validation: PushDeps['validation']
): Promise<AuthorizationOutcome> {
  const scopes = await validation.scopes.list()
  const catalogue = catalogueOf(validation, await validation.resourceServers.listApis(), scopes)
  // The row of a discovered client has no scopes: it may request every discoverable one.
  const optionalScopes =
    client.isDiscovered === true
      ? scopes.filter(({ isDiscoverable }) => isDiscoverable).map(({ name }) => name)
      : client.optionalScopes
  const { bindsToKeys } = validation
  return validateAuthorizationRequest(parameters, { client: { ...client, optionalScopes }, catalogue, bindsToKeys })
}

function toError(outcome: Exclude<AuthorizationOutcome, { kind: 'accepted' }>): OAuthError {
  switch (outcome.kind) {
    case 'redirect_error':
      return new OAuthError(outcome.error, outcome.description)
    case 'show_error_page': {
      const description = 'The parameter redirect_uri must be sent once, and be one that is registered for the client.'
      return new OAuthError('invalid_request', description, { reason: outcome.reason })
    }
  }
}
