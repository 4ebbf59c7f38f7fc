import {
  type Client,
  type ClientCredentials,
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
  }
}

export type ClientAuthenticationDeps = {
  /** `now` decides which cached secrets have expired. */
  clients: { findWithSecrets: (clientId: string, now: Date) => ReturnType<ClientStore['findWithSecrets']> }
  limiter: Pick<Limiter, 'count'>
  /** Time of the last use of each secret: shows an operator whether an old secret is still in use. */
  usage: Pick<Usage, 'note'>
  now: () => Date
}

/** An authenticated client, and the secret that it used; a public client has none. */
type AuthenticatedClient = { client: Client; secretId: string | undefined }

/**
 * Authenticates the client of a request with a form (RFC 6749 §2.3, §3.2.1). Later audit events of the request include client and
 * secret. An unknown client and a wrong secret take the same steps and get the same response. Only failures are counted, and only
 * afterwards: failures of others never cause valid credentials to be refused.
 * @throws {OAuthError} `invalid_client`, or `invalid_request` when the credentials cannot be read
 * @throws {TooManyAttempts} instead of `invalid_client`, after too many failures from the address
 */
export async function authenticateClient(request: FastifyRequest, deps: ClientAuthenticationDeps): Promise<Client> {
  const credentials = readClientCredentials(authorizationHeaders(request), formOf(request))
  try {
    const isKnowable = 'clientId' in credentials && isClientId(credentials.clientId)
    const found = isKnowable ? await deps.clients.findWithSecrets(credentials.clientId, deps.now()) : undefined
    const { client, secretId } = evaluate(credentials, found)
    if (secretId !== undefined) deps.usage.note(clientSecretKey(client.clientId, secretId))
    request.authenticatedClientId = client.clientId
    request.authenticatedSecretId = secretId
    return client
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') {
      await deps.limiter.count(clientAuthenticationLimit(request.ip))
    }
    throw error
  }
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
  // A confidential client must send its secret; a public client has none (RFC 6749 §2.1).
  const expected = found.client.type === 'confidential' ? 'secret' : 'identifier'
  if (credentials.kind !== expected) throw refusal(usedHeader, 'wrong_authentication_method', clientId)
  if (!isAuthenticated) throw refusal(usedHeader, 'wrong_secret', clientId, formerSecretId)
  return { client: found.client, secretId: hash && secretIdOf(hash) }
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
