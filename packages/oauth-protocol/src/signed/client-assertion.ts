import type { Client } from '../client.js'
import { isClientId } from '../client-id-url.js'
import { ALGORITHM_OUTSIDE_FAPI2 } from '../fapi2-profile.js'
import type { FormParameters } from '../parameters.js'
import { type CompactJws, type JsonMembers, readCompactJws } from './compact-jws.js'
import type { PublicKey, SignatureAlgorithm } from './public-key.js'

/** The only type of assertion (RFC 7523 §2.2). */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Algorithms of client assertions, in the order of `token_endpoint_auth_signing_alg_values_supported` (RFC 8414 §2). */
export const ASSERTION_ALGORITHMS = [
  'ES256',
  'PS256',
  'EdDSA',
  'Ed25519',
  'RS256'
] as const satisfies readonly SignatureAlgorithm[]

/** Why an assertion is refused with `invalid_client`: for the audit record only. Other methods have the other two reasons as well. */
export const ASSERTION_REFUSALS = [
  'assertion_malformed',
  'assertion_algorithm',
  'assertion_critical_header',
  'assertion_typ',
  'assertion_issuer',
  'assertion_subject',
  'assertion_other_client',
  'assertion_audience',
  'assertion_expired',
  'assertion_lives_too_long',
  'assertion_not_yet_valid',
  'assertion_jti',
  'assertion_unknown_key',
  'assertion_signature',
  'assertion_used'
] as const

export type AssertionRefusal = (typeof ASSERTION_REFUSALS)[number] | 'unknown_client' | 'wrong_authentication_method'

/** An assertion that is well-formed and names its client. Nothing of it is verified. */
export type ClientAssertion = {
  jws: CompactJws
  clientId: string
  algorithm: SignatureAlgorithm
  /** `kid` of the header. */
  keyId: string | undefined
}

export type ReadAssertion =
  | { kind: 'assertion'; assertion: ClientAssertion }
  /** `invalid_request` with this description. */
  | { kind: 'unreadable'; description: string }
  /** `invalid_client`. */
  | { kind: 'refused'; reason: AssertionRefusal }

/** What the server expects of an assertion. */
export type ExpectedAssertion = {
  issuer: string
  /** `token_endpoint`. Accepted as audience only from clients that their document describes. */
  tokenEndpoint: string
  now: Date
}

/** The client that an assertion names. @property assertionAlgorithm the only one that it uses; undefined: any of its keys */
export type AssertionClient = Pick<Client, 'privateKeyJwt' | 'isDiscovered' | 'profile'> & {
  assertionAlgorithm?: string | undefined
}

export type CheckedAssertion =
  /** @property usableForMs how long its `jti` must be remembered; @property audience for the log */
  | { kind: 'valid'; jti: string; usableForMs: number; audience: 'issuer' | 'token_endpoint' }
  | { kind: 'refused'; reason: AssertionRefusal }

/** Seconds by which the clock of a client may differ from this server's. */
const TOLERANCE = 30
/** Seconds. Libraries sign for up to an hour. */
const LONGEST_LIFE = 3_600
const MAX_JTI_LENGTH = 256
/** Without `kid`, at most this many keys are tried: each costs a verification. */
const MOST_TRIED_KEYS = 4

const FORM_NAMES = ['client_assertion_type', 'client_assertion', 'client_id', 'client_secret']

/**
 * Reads the assertion of a form (RFC 7521 §4.2, RFC 7523 §2.2, §3). A request has one method of client authentication (RFC 6749 §2.3),
 * so another credential beside it is an error of the request.
 * @param authorization every Authorization header of the request
 */
export function readClientAssertion(form: FormParameters, authorization: readonly string[]): ReadAssertion {
  const description = objectionToForm(form, authorization)
  if (description !== undefined) return { kind: 'unreadable', description }
  const jws = readCompactJws(form.get('client_assertion') ?? '')
  if (jws === undefined) return refused('assertion_malformed')
  const reason = faultInHeader(jws.header) ?? faultInSubject(jws.payload, form.get('client_id'))
  if (reason !== undefined) return refused(reason)
  const { alg, kid } = jws.header
  const { iss } = jws.payload
  return {
    kind: 'assertion',
    assertion: {
      jws,
      clientId: iss as string,
      algorithm: alg as SignatureAlgorithm,
      keyId: kid as string | undefined
    }
  }
}

function objectionToForm(form: FormParameters, authorization: readonly string[]): string | undefined {
  const unreadable = FORM_NAMES.find((name) => form.isRepeated(name) || form.isMalformed(name))
  if (unreadable !== undefined) return `The parameter ${unreadable} is repeated or malformed.`
  if (form.get('client_assertion') === undefined) return 'The parameter client_assertion is missing.'
  if (form.get('client_assertion_type') !== CLIENT_ASSERTION_TYPE)
    return `The parameter client_assertion_type must be ${CLIENT_ASSERTION_TYPE}.`
  const hasOther = authorization.length > 0 || form.get('client_secret') !== undefined
  return hasOther ? 'Two methods of client authentication were used.' : undefined
}

/** Never reads `jku`, `jwk`, `x5u` or `x5c`: the sender of an assertion does not choose the key. */
function faultInHeader(header: JsonMembers): AssertionRefusal | undefined {
  if (!ASSERTION_ALGORITHMS.some((algorithm) => algorithm === header.alg)) return 'assertion_algorithm'
  if (Object.hasOwn(header, 'crit')) return 'assertion_critical_header'
  if (header.typ !== undefined && !isTypeOfAssertion(header.typ)) return 'assertion_typ'
  return header.kid === undefined || typeof header.kid === 'string' ? undefined : 'assertion_malformed'
}

/** A JWT for another purpose, such as a DPoP proof, must not pass as an assertion (RFC 8725 §3.11). */
function isTypeOfAssertion(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?(?:jwt|client-authentication\+jwt)$/i.test(typ)
}

/** @param clientId of the form, which may be missing (RFC 7521 §4.2) */
function faultInSubject({ iss, sub }: JsonMembers, clientId: string | undefined): AssertionRefusal | undefined {
  if (typeof iss !== 'string' || !isClientId(iss)) return 'assertion_issuer'
  if (sub !== iss) return 'assertion_subject'
  return clientId === undefined || clientId === iss ? undefined : 'assertion_other_client'
}

/**
 * Checks what an assertion claims (RFC 7523 §3), before its key is looked for: no stranger can cause a fetch of keys.
 * @param client the one that it names; undefined if there is none
 */
export function checkClientAssertion(
  { jws, algorithm }: ClientAssertion,
  client: AssertionClient | undefined,
  expected: ExpectedAssertion
): CheckedAssertion {
  if (client === undefined) return refused('unknown_client')
  if (client.privateKeyJwt === undefined) return refused('wrong_authentication_method')
  const { assertionAlgorithm: registered, profile } = client
  if (profile === 'fapi2' && algorithm === ALGORITHM_OUTSIDE_FAPI2) return refused('assertion_algorithm')
  if (registered !== undefined && registered !== algorithm) return refused('assertion_algorithm')
  const audience = audienceOf(jws, client, expected)
  if (audience === undefined) return refused('assertion_audience')
  const { exp, jti } = jws.payload
  const now = expected.now.getTime() / 1_000
  const fault = faultInTime(jws.payload, now)
  if (fault !== undefined) return refused(fault)
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) return refused('assertion_jti')
  const usableForMs = Math.ceil(((exp as number) + TOLERANCE - now) * 1_000)
  return { kind: 'valid', jti, usableForMs, audience }
}

/**
 * The audience is the issuer alone: with another member, another server could use the assertion here (CVE-2025-27370). The URL of
 * the token endpoint is refused as well, with one exception: a client that its document describes may use it in an assertion
 * without `typ`, which was usual before. Under `fapi2` it must be a string (FAPI 2.0 Security Profile §5.3.2.1).
 */
function audienceOf(
  { header, payload: { aud } }: CompactJws,
  { isDiscovered, profile }: AssertionClient,
  { issuer, tokenEndpoint }: ExpectedAssertion
): 'issuer' | 'token_endpoint' | undefined {
  const isList = profile !== 'fapi2' && Array.isArray(aud) && aud.length === 1
  const audience: unknown = isList ? aud[0] : aud
  if (audience === issuer) return 'issuer'
  const mayNameEndpoint = isDiscovered === true && header.typ === undefined
  return mayNameEndpoint && audience === tokenEndpoint ? 'token_endpoint' : undefined
}

function faultInTime({ exp, iat, nbf }: JsonMembers, now: number): AssertionRefusal | undefined {
  if (!isTime(exp) || now >= exp + TOLERANCE) return 'assertion_expired'
  if (exp > now + LONGEST_LIFE + TOLERANCE) return 'assertion_lives_too_long'
  const isPast = (time: unknown) => time === undefined || (isTime(time) && time <= now + TOLERANCE)
  return isPast(iat) && isPast(nbf) ? undefined : 'assertion_not_yet_valid'
}

/** A NumericDate may have a fraction (RFC 7519 §2). */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

/**
 * The keys that may have signed an assertion: the one that its `kid` names, or without `kid` those of its algorithm.
 * @param keys of the client
 */
export function candidateKeys(
  { algorithm, keyId }: Pick<ClientAssertion, 'algorithm' | 'keyId'>,
  keys: readonly PublicKey[]
): readonly PublicKey[] {
  const fitting = keys.filter(({ algorithms }) => algorithms.includes(algorithm))
  return keyId === undefined ? fitting.slice(0, MOST_TRIED_KEYS) : fitting.filter(({ kid }) => kid === keyId)
}

function refused(reason: AssertionRefusal): { kind: 'refused'; reason: AssertionRefusal } {
  return { kind: 'refused', reason }
}
