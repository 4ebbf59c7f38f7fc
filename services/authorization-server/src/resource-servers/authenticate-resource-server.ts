import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type ClientCredentials, digestToken, isClientIdentifier, OAuthError } from '@valetkey/oauth-protocol'
import type { ResourceServer, ResourceServerStore } from '../storage/resource-servers.js'

/** Compared with where there is no hash. Random, so that nobody can know a secret for it. */
const NO_SECRET = randomBytes(32)

/** Proves which resource server is asking (RFC 7662 §2.1). A client's credentials are worth nothing here. */
export async function authenticateResourceServer(
  credentials: ClientCredentials,
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
): Promise<ResourceServer> {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  if (credentials.kind !== 'secret') throw refuse('no_credentials')
  const { clientId, clientSecret } = credentials
  const secretDigest = digestToken(clientSecret)
  const found = isClientIdentifier(clientId) ? await resourceServers.findWithSecret(clientId) : undefined
  const proven = timingSafeEqual(found?.secretHash ?? NO_SECRET, secretDigest)
  if (found === undefined || !proven) throw refuse('wrong_resource_server_credentials')
  return found.resourceServer
}

function refuse(reason: string): OAuthError {
  // The challenge goes out always: Basic is the way to call this endpoint (RFC 7662 §2.3).
  return new OAuthError('invalid_client', 'Authentication of the resource server failed.', {
    reason,
    challenge: 'Basic'
  })
}
