import { randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type Client,
  type ClientCredentials,
  digestToken,
  isClientIdentifier,
  isWellFormed,
  OAuthError,
  secretIdOf
} from '@valetkey/oauth-protocol'
import { clientSecretKey } from '../../storage/postgres/client-secrets.js'
import type { ClientStore } from '../../storage/postgres/clients.js'
import type { Limiter } from '../rate-limits/limiter.js'
import { clientAuthenticationLimit } from '../rate-limits/rules.js'
import type { Usage } from '../usage.js'

export type ClientAuthenticationDeps = {
  /** `now` is for those who answer from memory. */
  clients: { findWithSecrets: (clientId: string, now: Date) => ReturnType<ClientStore['findWithSecrets']> }
  limiter: Pick<Limiter, 'count'>
  /** When each secret was last used, so that an operator knows whether the old one still is. */
  usage: Pick<Usage, 'note'>
  now: () => Date
}

/** A client that has proved itself, and by which of its secrets; a public one has none. */
export type AuthenticatedClient = { client: Client; secretId: string | undefined }

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
): Promise<AuthenticatedClient> {
  try {
    const isKnowable = 'clientId' in credentials && isClientIdentifier(credentials.clientId)
    const found = isKnowable ? await deps.clients.findWithSecrets(credentials.clientId, deps.now()) : undefined
    const proven = prove(credentials, found)
    if (proven.secretId !== undefined) deps.usage.note(clientSecretKey(proven.client.clientId, proven.secretId))
    return proven
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') {
      await deps.limiter.count(clientAuthenticationLimit(address))
    }
    throw error
  }
}

type Found = Awaited<ReturnType<ClientStore['findWithSecrets']>>

function prove(credentials: ClientCredentials, found: Found): AuthenticatedClient {
  if (credentials.kind === 'malformed') throw new OAuthError('invalid_request', credentials.description)
  if (credentials.kind === 'unusable') throw refuse(credentials.usedHeader, credentials.reason)

  const { clientId } = credentials
  const usedHeader =
    credentials.kind === 'secret' ? credentials.method === 'client_secret_basic' : credentials.usedHeader
  const digest = credentials.kind === 'secret' ? digestToken(credentials.clientSecret) : undefined
  const proven = digest === undefined || matchesOne(digest, found?.secretHashes ?? [])

  const formerSecretId = proven ? undefined : idOfFormerSecret(credentials, digest)
  if (found === undefined) throw refuse(usedHeader, 'unknown_client', clientId, formerSecretId)
  // A confidential client must show its secret; a public one has none that it could show (RFC 6749 §2.1).
  const expected = found.client.type === 'confidential' ? 'secret' : 'identifier'
  if (credentials.kind !== expected) throw refuse(usedHeader, 'wrong_authentication_method', clientId)
  if (!proven) throw refuse(usedHeader, 'wrong_secret', clientId, formerSecretId)
  return { client: found.client, secretId: digest && secretIdOf(digest) }
}

/** Compared with where a hash is missing. Random, so that nobody can know a secret for it. */
const NO_SECRET = randomBytes(32)

/** As many as are compared at least: two are live while a secret is being replaced. */
const COMPARISONS = 2

function matchesOne(digest: Buffer, hashes: readonly Buffer[]): boolean {
  // Every hash is compared, and never fewer than two, so that the time does not tell how many there are.
  let isFound = false
  for (let index = 0; index < Math.max(COMPARISONS, hashes.length); index++) {
    isFound = timingSafeEqual(hashes[index] ?? NO_SECRET, digest) || isFound
  }
  return isFound
}

/**
 * Who still comes with a secret that was replaced is found by its id. Of anything but a secret that we may have made no id
 * is written: a password that was sent by mistake could be guessed from it.
 */
function idOfFormerSecret(credentials: ClientCredentials, digest: Buffer | undefined): string | undefined {
  if (credentials.kind !== 'secret' || !isWellFormed('clientSecret', credentials.clientSecret)) return undefined
  return digest && secretIdOf(digest)
}

function refuse(usedHeader: boolean, reason: string, clientId?: string, secretId?: string): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed.', {
    reason,
    ...(clientId !== undefined && isClientIdentifier(clientId) && { clientId }),
    ...(secretId !== undefined && { secretId }),
    ...(usedHeader && { challenge: 'Basic' as const })
  })
}
