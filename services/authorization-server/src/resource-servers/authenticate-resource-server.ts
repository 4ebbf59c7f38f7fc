import { timingSafeEqual } from 'node:crypto'
import {
  type ClientCredentials,
  digestToken,
  isClientIdentifier,
  OAuthError,
  type TokenDigest
} from '@valetkey/oauth-protocol'
import type { ResourceServer } from '../storage/resource-servers.js'

const NO_SECRET = digestToken('compared with when there is nothing to compare with')

/** How a resource server is found; a look that finds more beside it may go by the secret's digest. */
export type ResourceServerLook<Found> = {
  findWithSecret(clientId: string, secretDigest: TokenDigest): Promise<Found | undefined>
}

/** Proves which resource server is asking (RFC 7662 §2.1). A client's credentials are worth nothing here. */
export async function authenticateResourceServer<Found extends { resourceServer: ResourceServer; secretHash: Buffer }>(
  credentials: ClientCredentials,
  resourceServers: ResourceServerLook<Found>
): Promise<Found> {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  if (credentials.kind !== 'secret') throw refuse('no_credentials')
  const { clientId, clientSecret } = credentials
  const secretDigest = digestToken(clientSecret)
  const found = isClientIdentifier(clientId) ? await resourceServers.findWithSecret(clientId, secretDigest) : undefined
  const proven = timingSafeEqual(found?.secretHash ?? NO_SECRET, secretDigest)
  if (found === undefined || !proven) throw refuse('wrong_resource_server_credentials')
  return found
}

function refuse(reason: string): OAuthError {
  // The challenge goes out always: Basic is the way to call this endpoint (RFC 7662 §2.3).
  return new OAuthError('invalid_client', 'Authentication of the resource server failed.', {
    reason,
    challenge: 'Basic'
  })
}
