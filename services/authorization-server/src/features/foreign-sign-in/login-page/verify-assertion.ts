import type { JsonWebKey } from 'node:crypto'
import {
  evaluateHandoffClaims,
  HANDOFF_TYPE,
  type HandoffOutcome,
  type HandoffSettings,
  MOST_ASSERTION_CHARACTERS
} from '@valetkey/sign-in-rules'
import { compactVerify, decodeProtectedHeader, errors, importJWK, type JWK } from 'jose'

/** The algorithm is that of the key, whatever the header says (RFC 8725 §3.1). */
const algorithmOf = ({ kty }: JsonWebKey): 'ES256' | 'EdDSA' => (kty === 'EC' ? 'ES256' : 'EdDSA')

/** Verifies the signature of an assertion, and then evaluates its claims. */
export async function verifyAssertion(
  assertion: string,
  { issuer, keys }: Pick<HandoffSettings, 'issuer' | 'keys'>,
  audience: string,
  now: Date
): Promise<HandoffOutcome> {
  const refuse = (reason: string) => ({ kind: 'refused', reason }) as const
  if (assertion.length > MOST_ASSERTION_CHARACTERS) return refuse('too_long')
  const header = readHeader(assertion)
  if (header === undefined) return refuse('malformed')
  if (header.typ !== HANDOFF_TYPE) return refuse('wrong_typ')
  for (const key of keys.filter((each) => algorithmOf(each) === header.alg)) {
    const payload = await verifiedPayload(assertion, key)
    if (payload === undefined) continue
    const claims = parseObject(payload)
    return claims === undefined ? refuse('malformed') : evaluateHandoffClaims(claims, { issuer, audience }, now)
  }
  return refuse('wrong_signature')
}

function readHeader(assertion: string): { typ?: string; alg?: string } | undefined {
  try {
    return decodeProtectedHeader(assertion)
  } catch {
    return undefined
  }
}

/** Every key is tried, so that a rotation needs no `kid`. @returns undefined if the key did not sign the assertion */
async function verifiedPayload(assertion: string, key: JsonWebKey): Promise<Uint8Array | undefined> {
  const algorithm = algorithmOf(key)
  try {
    const { payload } = await compactVerify(assertion, await importJWK(key as JWK, algorithm), {
      algorithms: [algorithm]
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}

function parseObject(payload: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    const isObject = typeof claims === 'object' && claims !== null && !Array.isArray(claims)
    return isObject ? (claims as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}
