import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import type { RelyingParty } from '@valetkey/sign-in-rules'
import type { FastifyRequest } from 'fastify'
import { type CheckedSignIn, evaluateSignIn, type SignInResult } from '../../browser/login/sign-in.js'
import { signInAddressLimit } from '../../platform/rate-limits/rules.js'
import { formOf } from '../../platform/request-parts.js'
import { CHALLENGE_MS, createChallenge } from './challenge.js'
import type { PasskeyDeps } from './passkey-deps.js'
import { type ResponseCheck, readResponse, stateOfChallenge, verifySignInResponse } from './verify-response.js'

type PasskeySignInDeps = Pick<PasskeyDeps, 'cookieKeys' | 'passkeys' | 'challenges' | 'limiter' | 'audit' | 'now'> & {
  relyingParty: RelyingParty
}

type Owner = { browserId: string; sessionHash: string | undefined }

/**
 * The options of `navigator.credentials.get` as JSON. They name no passkey, so that the user needs no user name and the page
 * reveals nothing. They are written here, because loading the library would delay the first sign-in page.
 */
export function signInOptions(owner: Owner, { relyingParty, cookieKeys, now }: PasskeySignInDeps): string {
  const options: PublicKeyCredentialRequestOptionsJSON = {
    challenge: createChallenge(cookieKeys, { ...owner, purpose: 'sign_in' }, now()).toString('base64url'),
    rpId: relyingParty.id,
    timeout: CHALLENGE_MS,
    userVerification: 'required'
  }
  return JSON.stringify(options)
}

/**
 * Signs in the user of the passkey whose response the form contains. Every refusal has the same result. `expired`: the page was
 * open for longer than its challenge is valid; this is no failed attempt, and nothing was looked up.
 */
export async function signInWithPasskey(
  request: FastifyRequest,
  deps: PasskeySignInDeps
): Promise<SignInResult | { kind: 'expired' }> {
  const response = readResponse(formOf(request).get('response'))
  if (response !== undefined && stateOfChallenge(response, checkOf(request, deps)) === 'expired') {
    request.log.info({ event: 'passkey_challenge_expired' }, 'passkey challenge expired')
    return { kind: 'expired' }
  }
  const evaluation = {
    limits: [signInAddressLimit(request.ip)],
    isKnown: false,
    evaluate: () => checkPasskey(response, request, deps)
  }
  return evaluateSignIn(evaluation, deps, request, 'passkey')
}

function checkOf(request: FastifyRequest, { relyingParty, cookieKeys, now }: PasskeySignInDeps): ResponseCheck {
  const { browserId, signedIn } = request
  const owner = { purpose: 'sign_in', browserId, sessionHash: signedIn?.sessionHash } as const
  return { relyingParty, cookieKeys, owner, now: now() }
}

async function checkPasskey(
  response: ReturnType<typeof readResponse>,
  request: FastifyRequest,
  deps: PasskeySignInDeps
): Promise<CheckedSignIn> {
  const { passkeys, challenges } = deps
  if (response === undefined) return { refusal: 'invalid_passkey', user: undefined }
  const found = await passkeys.findForSignIn(response.id)
  if (found === undefined) return { refusal: 'unknown_passkey', user: undefined }
  const { user, publicKey, userHandle } = found
  const credential = { passkeyId: response.id, publicKey }
  const verified = await verifySignInResponse(response, credential, checkOf(request, deps))
  const isOfUser = response.response.userHandle === Buffer.from(userHandle).toString('base64url')
  if (verified === undefined || !isOfUser) return { refusal: 'invalid_passkey', user }
  if (user.disabled) return { refusal: 'disabled_user', user }
  if (!(await challenges.use(verified.challengeHash))) return { refusal: 'invalid_passkey', user }
  if (!(await passkeys.noteUse(response.id, verified))) return { refusal: 'cloned_passkey', user }
  return { refusal: undefined, user }
}
