import { hashToken, newOpaqueToken, type RandomBytes, secretIdOf, type TokenHash } from '@valetkey/oauth-protocol'
import type { ClientSecret } from '../../storage/postgres/client-secrets.js'

/** Two secrets are live while one is being replaced. The comparison in constant time supports no more. */
export const MOST_LIVE_SECRETS = 2

/** @property clientSecret shown once; only the hash is stored */
type CreatedSecret = { clientSecret: string; hash: TokenHash; secretId: string }

export function createClientSecret(randomBytes: RandomBytes): CreatedSecret {
  const clientSecret = newOpaqueToken('clientSecret', randomBytes)
  const hash = hashToken(clientSecret)
  return { clientSecret, hash, secretId: secretIdOf(hash) }
}

export function liveSecrets(secrets: readonly ClientSecret[]): readonly ClientSecret[] {
  return secrets.filter(({ live }) => live)
}

/** Whether a client may get another secret that does not end the others. */
export function mayAddSecret(secrets: readonly ClientSecret[]): boolean {
  return liveSecrets(secrets).length < MOST_LIVE_SECRETS
}

/** The secret to delete. The last live one stays: without it, the client could not authenticate. */
export function findDeletableSecret(
  secrets: readonly ClientSecret[],
  secretId: string
): { kind: 'deletable'; secret: ClientSecret } | { kind: 'unknown' } | { kind: 'only_live_secret' } {
  const secret = secrets.find((each) => each.secretId === secretId)
  if (secret === undefined) return { kind: 'unknown' }
  const isLast = secret.live && liveSecrets(secrets).length === 1
  return isLast ? { kind: 'only_live_secret' } : { kind: 'deletable', secret }
}
