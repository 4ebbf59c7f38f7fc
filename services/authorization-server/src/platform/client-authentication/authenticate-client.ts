import {
  type Client,
  type ClientCredentials,
  type FormParameters,
  findMatchingSecret,
  hashToken,
  isClientId,
  isWellFormed,
  OAuthError,
  readClientCredentials,
  secretIdOf
} from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { clientSecretKey } from '../../storage/postgres/client-secrets.js'
import type { ClientStore } from '../../storage/postgres/clients.js'
import { MOST_LIVE_SECRETS } from '../clients/client-secret-rules.js'
import type { Limiter } from '../rate-limits/limiter.js'
import { clientAuthenticationLimit } from '../rate-limits/rules.js'
import { authorizationHeaders, formOf } from '../request-parts.js'
import type { Usage } from '../usage.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated client, for the audit event of a later refusal. */
    authenticatedClientId: string | undefined
    /** The secret that it used; every audit event of the request includes its id. */
    authenticatedSecretId: string | undefined
    /** Whether the client has signed the request. */
    isAuthenticatedByKey: boolean
  }
}

/** Authenticates clients by an assertion that they signed (RFC 7521 §4.2): the form parameters `client_assertion…`. */
export type AssertionAuthentication = {
  /** Accepted signature algorithms (RFC 7518 §3.1), for the metadata. */
  algorithms: readonly string[]
  /**
   * @param authorization every Authorization header of the request, which must have no credentials beside the assertion
   * @throws {OAuthError} `invalid_client`, or `invalid_request` when the parameters cannot be read
   */
  authenticate(form: FormParameters, authorization: readonly string[]): Promise<Client>
}

/** Whether this server serves a client. @throws {OAuthError} if not */
export type ClientAdmission = (client: Client) => void

export type ClientAuthenticationDeps = {
  /** `now` decides which cached secrets have expired. */
  clients: { findWithSecrets: (clientId: string, now: Date) => ReturnType<ClientStore['findWithSecrets']> }
  limiter: Pick<Limiter, 'count'>
  /** Time of the last use of each secret: shows an operator whether an old secret is still in use. */
  usage: Pick<Usage, 'note'>
  /** Undefined: the parameters of an assertion are ignored, as every unknown parameter (RFC 6749 §3.2). */
  assertions?: AssertionAuthentication | undefined
  /** Undefined: it serves all clients. */
  clientAdmission?: ClientAdmission | undefined
  now: () => Date
}

/** An authenticated client, and the secret that it used; a public client has none. */
type AuthenticatedClient = { client: Client; secretId: string | undefined }

/**
 * Authenticates the client of a request with a form (RFC 6749 §2.3, §3.2.1). Later audit events of the request include client and
 * secret. An unknown client and a wrong secret take the same steps and get the same response. Only failures are counted, and only
 * afterwards: failures of others never cause valid credentials to be refused.
 * @throws {OAuthError} `invalid_client`; `invalid_request` when the credentials cannot be read; `unauthorized_client`
 * @throws {TooManyAttempts} instead of `invalid_client`, after too many failures from the address
 */
export async function authenticateClient(request: FastifyRequest, deps: ClientAuthenticationDeps): Promise<Client> {
  const form = formOf(request)
  const authorization = authorizationHeaders(request)
  try {
    if (deps.assertions !== undefined && hasAssertion(form)) {
      const client = await deps.assertions.authenticate(form, authorization)
      request.authenticatedClientId = client.clientId
      request.isAuthenticatedByKey = true
      deps.clientAdmission?.(client)
      return { ...client, provedKey: true }
    }
    const credentials = readClientCredentials(authorization, form)
    const isKnowable = 'clientId' in credentials && isClientId(credentials.clientId)
    const found = isKnowable ? await deps.clients.findWithSecrets(credentials.clientId, deps.now()) : undefined
    const { client, secretId } = evaluate(credentials, found)
    if (secretId !== undefined) deps.usage.note(clientSecretKey(client.clientId, secretId))
    request.authenticatedClientId = client.clientId
    request.authenticatedSecretId = secretId
    deps.clientAdmission?.(client)
    return client
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') {
      await deps.limiter.count(clientAuthenticationLimit(request.ip))
    }
    throw error
  }
}

/** An incomplete assertion is one too: it must not pass as the id of a public client. */
function hasAssertion(form: FormParameters): boolean {
  return isSent(form, 'client_assertion') || isSent(form, 'client_assertion_type')
}

function isSent(form: FormParameters, name: string): boolean {
  return form.get(name) !== undefined || form.isRepeated(name) || form.isMalformed(name)
}

type Found = Awaited<ReturnType<ClientStore['findWithSecrets']>>

function evaluate(credentials: ClientCredentials, found: Found): AuthenticatedClient {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  if (credentials.kind === 'unusable') throw refusal(credentials.usedHeader, credentials.reason)

  const { clientId } = credentials
  const usedHeader =
    credentials.kind === 'secret' ? credentials.method === 'client_secret_basic' : credentials.usedHeader
  const hashes = credentials.kind === 'secret' ? credentials.clientSecrets.map(hashToken) : []
  // The secret is hashed before any refusal, so that the time does not show whether the client exists.
  const hash = findMatchingSecret(hashes, found?.secretHashes ?? [], MOST_LIVE_SECRETS)
  const isAuthenticated = credentials.kind === 'identifier' || hash !== undefined

  const formerSecretId = isAuthenticated ? undefined : idOfFormerSecret(credentials)
  if (found === undefined) throw refusal(usedHeader, 'unknown_client', clientId, formerSecretId)
  if (credentials.kind !== expectedOf(found.client)) throw refusal(usedHeader, 'wrong_authentication_method', clientId)
  if (!isAuthenticated) throw refusal(usedHeader, 'wrong_secret', clientId, formerSecretId)
  return { client: found.client, secretId: hash && secretIdOf(hash) }
}

/**
 * A confidential client must send its secret; a public client has none (RFC 6749 §2.1). A client has one method: of a client with
 * a key, a leaked secret or the id alone authenticates no request.
 */
function expectedOf({ type, privateKeyJwt }: Client): 'secret' | 'identifier' | 'assertion' {
  if (privateKeyJwt === 'required') return 'assertion'
  return type === 'confidential' ? 'secret' : 'identifier'
}

/**
 * Returns the id for the audit record, which shows which client still uses a replaced secret. Only values with the format of
 * a client secret have one: a password that was sent by mistake could be guessed from its id.
 */
function idOfFormerSecret(credentials: ClientCredentials): string | undefined {
  if (credentials.kind !== 'secret') return undefined
  const issued = credentials.clientSecrets.find((secret) => isWellFormed('clientSecret', secret))
  return issued && secretIdOf(hashToken(issued))
}

function refusal(usedHeader: boolean, reason: string, clientId?: string, secretId?: string): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed.', {
    reason,
    ...(clientId !== undefined && isClientId(clientId) && { clientId }),
    ...(secretId !== undefined && { secretId }),
    ...(usedHeader && { challenge: 'Basic' as const })
  })
}
