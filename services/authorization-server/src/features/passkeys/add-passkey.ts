import { randomBytes } from 'node:crypto'
import { type RelyingParty, readPasskeyName, type UsableWays } from '@valetkey/sign-in-rules'
import type { FastifyRequest } from 'fastify'
import type { SignedIn } from '../../browser/session/session-plugin.js'
import { formOf } from '../../platform/request-parts.js'
import { CHALLENGE_MS, createChallenge } from './challenge.js'
import type { PasskeyDeps } from './passkey-deps.js'
import { MOST_PASSKEYS, type Passkey } from './passkey-store.js'
import { readResponse, verifyNewPasskey } from './verify-response.js'

/** All but `added` are keys of texts. */
export type AddOutcome = 'added' | 'passkeys.bad_name' | 'passkeys.not_added' | Obstacle

export type Obstacle = 'passkeys.full' | 'passkeys.not_local'

/**
 * Why the user cannot have another passkey. A user without a password signs in at a provider, which may refuse former members;
 * a passkey would go around it.
 */
export function findObstacle({ hasPassword, passkeys }: UsableWays): Obstacle | undefined {
  if (!hasPassword && passkeys === 0) return 'passkeys.not_local'
  return passkeys >= MOST_PASSKEYS ? 'passkeys.full' : undefined
}

/** The options of `navigator.credentials.create` as JSON. */
export async function addOptions(
  user: SignedIn,
  browserId: string,
  present: readonly Passkey[],
  relyingParty: RelyingParty,
  { cookieKeys, productName, passkeys, now }: Pick<PasskeyDeps, 'cookieKeys' | 'productName' | 'passkeys' | 'now'>
): Promise<string> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  const owner = { purpose: 'add', browserId, sessionHash: user.sessionHash } as const
  const options = await generateRegistrationOptions({
    rpName: productName,
    rpID: relyingParty.id,
    userName: user.username,
    userDisplayName: user.username,
    userID: new Uint8Array(await passkeys.userHandle(user.userId, randomBytes(32))),
    challenge: new Uint8Array(createChallenge(cookieKeys, owner, now())),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    excludeCredentials: present.map(({ passkeyId }) => ({ id: passkeyId })),
    // The library asks for `preferred` by itself, and would then refuse what the browser creates.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' }
  })
  return JSON.stringify(options)
}

/** Stores the passkey whose response the form contains. */
export async function addPasskey(
  user: SignedIn,
  request: FastifyRequest,
  deps: Omit<PasskeyDeps, 'issuer' | 'productName' | 'session' | 'audit' | 'limiter'>
): Promise<AddOutcome> {
  const { relyingParty, cookieKeys, passkeys, challenges, now } = deps
  const form = formOf(request)
  const name = readPasskeyName(form.get('name'))
  if (name === undefined) return 'passkeys.bad_name'
  const obstacle = findObstacle(await deps.ways.find(user.userId, deps.configured))
  if (obstacle !== undefined) return obstacle
  const response = readResponse(form.get('response'))
  if (response === undefined || relyingParty === undefined) return 'passkeys.not_added'
  const owner = { purpose: 'add', browserId: request.browserId, sessionHash: user.sessionHash } as const
  const verified = await verifyNewPasskey(response, { relyingParty, cookieKeys, owner, now: now() })
  if (verified === undefined || !(await challenges.use(verified.challengeHash))) return 'passkeys.not_added'
  const { challengeHash: _, ...passkey } = verified
  return (await passkeys.add({ ...passkey, userId: user.userId, name }, user)) ? 'added' : 'passkeys.not_added'
}
