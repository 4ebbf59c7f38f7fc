import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type ClientCredentials, digestToken, isClientIdentifier, OAuthError } from '@valetkey/oauth-protocol'
import type { ResourceServer, ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { Limiter } from '../rate-limits/limiter.js'
import { resourceServerAuthenticationLimit } from '../rate-limits/rules.js'

/** Compared with where there is no hash. Random, so that nobody can know a secret for it. */
const NO_SECRET = randomBytes(32)

export type ResourceServerAuthenticationDeps = {
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
  limiter: Pick<Limiter, 'count'>
}

/**
 * Proves which resource server is asking (RFC 7662 §2.1). A client's credentials are worth nothing here. Failures are counted
 * as those of clients are: after the fact, so that right credentials cost no look at the counters and always pass.
 * @throws {OAuthError} `invalid_client`, or `invalid_request` for what cannot be read as one way of authentication
 * @throws {TooManyAttempts} instead of `invalid_client`, when there were too many from that address
 */
export async function authenticateResourceServer(
  credentials: ClientCredentials,
  address: string,
  { resourceServers, limiter }: ResourceServerAuthenticationDeps
): Promise<ResourceServer> {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  const found = credentials.kind === 'secret' ? await findBySecret(credentials, resourceServers) : undefined
  if (found === undefined) {
    await limiter.count(resourceServerAuthenticationLimit(address))
    throw refuse(credentials.kind === 'secret' ? 'wrong_resource_server_credentials' : 'no_credentials')
  }
  return found
}

async function findBySecret(
  { clientId, clientSecret }: Extract<ClientCredentials, { kind: 'secret' }>,
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
): Promise<ResourceServer | undefined> {
  const secretDigest = digestToken(clientSecret)
  const found = isClientIdentifier(clientId) ? await resourceServers.findWithSecret(clientId) : undefined
  const isRight = timingSafeEqual(found?.secretHash ?? NO_SECRET, secretDigest)
  return isRight ? found?.resourceServer : undefined
}

function refuse(reason: string): OAuthError {
  // The challenge goes out always: Basic is the way to call this endpoint (RFC 7662 §2.3).
  return new OAuthError('invalid_client', 'Authentication of the resource server failed.', {
    reason,
    challenge: 'Basic'
  })
}
