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
  const found = credentials.kind === 'secret' ? await findBySecret(credentials, resourceServers) : undefined
  if (found === undefined) {
    await limiter.count(resourceServerAuthenticationLimit(address))
    throw refusal(credentials.kind === 'secret' ? 'wrong_resource_server_credentials' : 'no_credentials')
  }
  return found
}

async function findBySecret(
  { clientId, clientSecrets }: Extract<ClientCredentials, { kind: 'secret' }>,
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
): Promise<AuthenticatedResourceServer | undefined> {
  const found = isClientIdentifier(clientId) ? await resourceServers.findWithSecret(clientId) : undefined
  const stored = found === undefined ? [] : [found.secretHash]
  const secretHash = findMatchingSecret(clientSecrets.map(hashToken), stored, 1)
  return found && secretHash && { ...found.resourceServer, secretHash }
}

function refusal(reason: string): OAuthError {
  // Always with a challenge: Basic is the way to call this endpoint (RFC 7662 §2.3).
  return new OAuthError('invalid_client', 'Authentication of the resource server failed.', {
    reason,
    challenge: 'Basic'
  })
}
