import { randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type Client,
  type ClientCredentials,
  digestToken,
  isClientIdentifier,
  OAuthError
} from '@valetkey/oauth-protocol'
import type { Limiter } from '../limits/limiter.js'
import { clientAuthenticationLimits } from '../limits/rules.js'
import type { ClientStore } from '../storage/clients.js'

export type ClientAuthenticationDeps = {
  clients: Pick<ClientStore, 'findWithSecrets'>
  limiter: Pick<Limiter, 'count'>
  now: () => Date
}

/**
 * Proves which client is asking (RFC 6749 §2.3, §3.2.1). An unknown client and a wrong secret take the same steps and get
 * the same answer. Only failures are counted, and only after the fact: right credentials are never refused for somebody
 * else's failures.
 * @throws {OAuthError} `invalid_client`, or `invalid_request` for what cannot be read as one way of authentication
 * @throws {TooManyAttempts} instead of `invalid_client`, when there were too many from that address
 */
export async function authenticateClient(
  credentials: ClientCredentials,
  address: string,
  deps: ClientAuthenticationDeps
): Promise<Client> {
  try {
    return await prove(credentials, deps)
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') {
      const clientId = 'clientId' in credentials ? credentials.clientId : ''
      await deps.limiter.count(clientAuthenticationLimits(clientId, address))
    }
    throw error
  }
}

async function prove(credentials: ClientCredentials, deps: ClientAuthenticationDeps): Promise<Client> {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  if (credentials.kind === 'unusable') throw refuse(credentials.usedHeader, credentials.reason)

  const { clientId } = credentials
  const usedHeader =
    credentials.kind === 'secret' ? credentials.method === 'client_secret_basic' : credentials.usedHeader
  const found = isClientIdentifier(clientId) ? await deps.clients.findWithSecrets(clientId, deps.now()) : undefined
  const proven = credentials.kind === 'identifier' || matchesOne(credentials.clientSecret, found?.secretHashes ?? [])

  if (found === undefined) throw refuse(usedHeader, 'unknown_client', clientId)
  // A confidential client must show its secret; a public one has none that it could show (RFC 6749 §2.1).
  const expected = found.client.type === 'confidential' ? 'secret' : 'identifier'
  if (credentials.kind !== expected) throw refuse(usedHeader, 'wrong_authentication_method', clientId)
  if (!proven) throw refuse(usedHeader, 'wrong_secret', clientId)
  return found.client
}

/** Compared with where a hash is missing. Random, so that nobody can know a secret for it. */
const NO_SECRET = randomBytes(32)

/** As many as are compared at least: two are live while a secret is being replaced. */
const COMPARISONS = 2

function matchesOne(secret: string, hashes: readonly Buffer[]): boolean {
  const digest = digestToken(secret)
  // Every hash is compared, and never fewer than two, so that the time does not tell how many there are.
  const padding = Array<Buffer>(Math.max(0, COMPARISONS - hashes.length)).fill(NO_SECRET)
  return [...hashes, ...padding].reduce((found, hash) => timingSafeEqual(hash, digest) || found, false)
}

function refuse(usedHeader: boolean, reason: string, clientId?: string): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed.', {
    reason,
    ...(clientId !== undefined && isClientIdentifier(clientId) && { clientId }),
    ...(usedHeader && { challenge: 'Basic' as const })
  })
}
