import {
  type ClientCredentials,
  findMatchingSecret,
  hashToken,
  isClientIdentifier,
  OAuthError,
  type TokenHash
} from '@valetkey/oauth-protocol'
import type { ResourceServer, ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { Limiter } from '../rate-limits/limiter.js'
import { resourceServerAuthenticationLimit } from '../rate-limits/rules.js'

/** @property secretHash of the secret that it sent */
type AuthenticatedResourceServer = ResourceServer & { secretHash: TokenHash }

/**
 * Authenticates a resource server (RFC 7662 §2.1); the credentials of a client do not work here. Failures are counted as
 * for clients: afterwards, so valid credentials need no look at the counters and are never refused.
 * @throws {OAuthError} `invalid_client`, or `invalid_request` when the credentials cannot be read
 * @throws {TooManyAttempts} instead of `invalid_client`, after too many failures from the address
 */
export async function authenticateResourceServer(
  credentials: ClientCredentials,
  address: string,
  {
    resourceServers,
    limiter
  }: { resourceServers: Pick<ResourceServerStore, 'findWithSecret'>; limiter: Pick<Limiter, 'count'> }
): Promise<AuthenticatedResourceServer> {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  const isSecret = credentials.kind === 'secret'
  const isKnowable = isSecret && isClientIdentifier(credentials.clientId)
  const found = isKnowable ? await resourceServers.findWithSecret(credentials.clientId) : undefined
  const hashes = isSecret ? credentials.clientSecrets.map(hashToken) : []
  const secretHash = findMatchingSecret(hashes, found === undefined ? [] : [found.secretHash], 1)
  if (found === undefined || secretHash === undefined) {
    await limiter.count(resourceServerAuthenticationLimit(address))
    throw refusal(isSecret ? 'wrong_resource_server_credentials' : 'no_credentials')
  }
  const { clientId, name, audience, title } = found.resourceServer
  return { clientId, name, audience, title, secretHash }
}

function refusal(reason: string): OAuthError {
  // Always with a challenge: Basic is the way to call this endpoint (RFC 7662 §2.3).
  return new OAuthError('invalid_client', 'Authentication of the resource server failed.', {
    reason,
    challenge: 'Basic'
  })
}
