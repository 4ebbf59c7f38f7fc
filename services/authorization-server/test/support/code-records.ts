import type { CodeBinding, PresentedBinding } from '@valetkey/oauth-protocol'
import type { AllowedGrant } from '../../src/storage/redis/code-record.js'

export const BINDING: CodeBinding = {
  clientId: 'printer',
  redirectUri: 'https://app.example/callback?a=%C3%BC&b="c" \n d',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  audience: 'https://files.example'
}

/** A token request that fits `BINDING`. */
export const RIGHT: PresentedBinding = {
  clientId: BINDING.clientId,
  redirectUri: BINDING.redirectUri,
  codeChallenge: BINDING.codeChallenge,
  resource: undefined
}

export const ALLOWED: AllowedGrant = {
  userId: 'alice',
  userGeneration: 1,
  clientGeneration: 2,
  authorizationGeneration: 3,
  scope: ['files.read', 'files.read:images'],
  newestScope: 4,
  binding: BINDING
}

/** The record that Allow writes to Redis, with the redirect of its form. */
export const recordOf = (change: Partial<AllowedGrant> = {}, encryptedRedirect: Buffer | undefined = REDIRECT) => ({
  allowed: { ...ALLOWED, ...change },
  encryptedRedirect
})

export const REDIRECT = Buffer.from('encrypted redirect')

/** Reduces the remaining lifetime of a record, as if it had been written earlier. */
export async function age(
  redis: { pttl(key: string): Promise<number>; pexpire(key: string, milliseconds: number): Promise<unknown> },
  key: string,
  milliseconds: number
): Promise<void> {
  await redis.pexpire(key, (await redis.pttl(key)) - milliseconds)
}
