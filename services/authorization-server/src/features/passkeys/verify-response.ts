import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { RelyingParty } from '@valetkey/sign-in-rules'
import { hashId } from '../../browser/session/random-id.js'
import { type ChallengeOwner, type ChallengeState, challengeState } from './challenge.js'

export type ResponseCheck = {
  relyingParty: RelyingParty
  cookieKeys: readonly string[]
  owner: ChallengeOwner
  now: Date
}

/** What a valid response says. The caller must use the challenge up. */
type Verified = { challengeHash: string; counter: number; backedUp: boolean }

export type VerifiedPasskey = Verified & {
  passkeyId: string
  publicKey: Uint8Array
  transports: readonly string[]
  synced: boolean
  aaguid: string
}

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const

/** A credential id has 1,023 bytes at most (WebAuthn Level 3 §4). */
const PASSKEY_ID = /^[A-Za-z0-9_-]{1,1364}$/

export function isPasskeyId(value: unknown): value is string {
  return typeof value === 'string' && PASSKEY_ID.test(value)
}

type Response = { id: string; response: { userHandle?: unknown; clientDataJSON?: unknown } }

/** The response that a form contains as JSON. The verification checks its other members. */
export function readResponse(json: string | undefined): Response | undefined {
  try {
    const parsed = JSON.parse(json ?? '')
    return isPasskeyId(parsed?.id) && typeof parsed.response === 'object' && parsed.response !== null
      ? parsed
      : undefined
  } catch {
    return undefined
  }
}

/** The state of the challenge that the response names. Does no other check. */
export function stateOfChallenge(
  { response }: Response,
  { cookieKeys, owner, now }: Omit<ResponseCheck, 'relyingParty'>
): ChallengeState {
  try {
    const { challenge } = JSON.parse(Buffer.from(String(response.clientDataJSON), 'base64url').toString())
    return challengeState(String(challenge), cookieKeys, owner, now)
  } catch {
    return 'invalid'
  }
}

/** @returns undefined if the response is not valid for this service, this browser and this key (WebAuthn Level 3 §7.2) */
export async function verifySignInResponse(
  response: unknown,
  { passkeyId, publicKey }: { passkeyId: string; publicKey: Uint8Array },
  check: ResponseCheck
): Promise<Verified | undefined> {
  const { verifyAuthenticationResponse } = await library()
  const { accepts, challengeHash } = challengeCheck(check)
  return unlessRefused(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: accepts,
      expectedOrigin: check.relyingParty.origin,
      expectedRPID: check.relyingParty.id,
      requireUserVerification: true,
      // The statement that stores the counter also compares it.
      credential: { id: passkeyId, publicKey: new Uint8Array(publicKey), counter: 0 }
    })
    if (!verified) return undefined
    const { newCounter, credentialBackedUp } = authenticationInfo
    return { challengeHash: challengeHash(), counter: newCounter, backedUp: credentialBackedUp }
  })
}

/** @returns undefined if the response is not valid for this service and this browser (WebAuthn Level 3 §7.1) */
export async function verifyNewPasskey(response: unknown, check: ResponseCheck): Promise<VerifiedPasskey | undefined> {
  const { verifyRegistrationResponse } = await library()
  const { accepts, challengeHash } = challengeCheck(check)
  return unlessRefused(async () => {
    const given = response as RegistrationResponseJSON
    if (await hasCertificates(given)) return undefined
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: given,
      expectedChallenge: accepts,
      expectedOrigin: check.relyingParty.origin,
      expectedRPID: check.relyingParty.id,
      requireUserVerification: true
    })
    if (!verified) return undefined
    const { credential, credentialDeviceType, credentialBackedUp, aaguid } = registrationInfo
    const transports: readonly unknown[] = Array.isArray(credential.transports) ? credential.transports : []
    return {
      challengeHash: challengeHash(),
      passkeyId: credential.id,
      publicKey: credential.publicKey,
      counter: credential.counter,
      transports: TRANSPORTS.filter((transport) => transports.includes(transport)),
      synced: credentialDeviceType === 'multiDevice',
      backedUp: credentialBackedUp,
      aaguid
    }
  })
}

/** Loaded with the first passkey: it takes a third of a second. */
const library = () => import('@simplewebauthn/server')

/** Verifies the challenge and remembers it. */
function challengeCheck({ cookieKeys, owner, now }: ResponseCheck) {
  let answered = ''
  return {
    accepts: (challenge: string) => {
      answered = challenge
      return challengeState(challenge, cookieKeys, owner, now) === 'valid'
    },
    challengeHash: () => hashId(answered)
  }
}

/** The library does no I/O here, so each of its errors is a fault of the response. */
async function unlessRefused<Result>(verify: () => Promise<Result | undefined>): Promise<Result | undefined> {
  try {
    return await verify()
  } catch {
    return undefined
  }
}

/**
 * Whether the attestation may have certificates. We ask for none, and the library would parse them and fetch the revocation
 * lists that they name. A browser may pass on `packed` without certificates (WebAuthn §5.1.3 step 22).
 */
export async function hasCertificates({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject))
  const format = attestation.get('fmt')
  return format !== 'none' && (format !== 'packed' || attestation.get('attStmt').get('x5c') !== undefined)
}
